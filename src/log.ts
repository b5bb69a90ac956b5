import { type Logger as PinoLogger, pino } from 'pino';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';
export type Logger = PinoLogger;

export function createLog(level: LogLevel): Logger {
  return pino({ level });
}
