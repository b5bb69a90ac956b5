import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Config, readConfig } from '../src/config.ts';

function valid(env: NodeJS.ProcessEnv): Config {
  const result = readConfig(env);
  if (!result.ok) throw new Error(result.reason);
  return result.value;
}

function refusal(env: NodeJS.ProcessEnv): string {
  const result = readConfig(env);
  return result.ok ? 'accepted' : result.reason;
}

describe('the configuration', () => {
  test('is complete without any variable', () => {
    expect(valid({})).toEqual({
      host: '127.0.0.1',
      port: 3000,
      publicUrl: 'http://127.0.0.1:3000',
      dataDir: resolve('data'),
      databaseUrl: null,
      smtpUrl: null,
      mailFrom: null,
      outboundAllow: [],
      trustedProxies: [],
      watchdogUrl: null,
      blindSettleSeconds: 600,
      logLevel: 'info',
      apiKey: null,
      pingKey: null,
      oidc: null,
    });
  });

  test('takes an empty variable for an unset one', () => {
    const names = [
      'HOST',
      'PORT',
      'PUBLIC_URL',
      'DATA_DIR',
      'DATABASE_URL',
      'SMTP_URL',
      'OUTBOUND_ALLOW',
      'BLIND_SETTLE',
    ];
    expect(valid(Object.fromEntries(names.map((name) => [name, ' '])))).toEqual(valid({}));
  });

  test('reads every variable', () => {
    const config = valid({
      HOST: '::1',
      PORT: '0',
      PUBLIC_URL: 'https://rollcall.example.com/',
      DATA_DIR: '/var/lib/rollcall',
      DATABASE_URL: 'postgresql://u:p%40ss@a.example:5432,b.example:5433/rollcall?sslmode=require',
      SMTP_URL: 'smtps://u:p@mail.example.com',
      MAIL_FROM: 'Rollcall <rollcall@example.com>',
      OUTBOUND_ALLOW: '10.0.0.0/8, fd00::/8, 192.0.2.7, fd01::1',
      TRUSTED_PROXIES: '172.16.0.0/12',
      WATCHDOG_URL: 'https://hc.example.com/ping/1',
      BLIND_SETTLE: '15m',
      LOG_LEVEL: 'DEBUG',
      ROLLCALL_API_KEY: 'a'.repeat(16),
      ROLLCALL_PING_KEY: 'b_-'.repeat(20),
    });
    expect(config).toMatchObject({
      host: '::1',
      port: 0,
      publicUrl: 'https://rollcall.example.com',
      dataDir: '/var/lib/rollcall',
      outboundAllow: ['10.0.0.0/8', 'fd00::/8', '192.0.2.7/32', 'fd01::1/128'],
      trustedProxies: ['172.16.0.0/12'],
      blindSettleSeconds: 900,
      logLevel: 'debug',
      apiKey: 'a'.repeat(16),
    });
    expect(valid({ HOST: '::1' }).publicUrl).toBe('http://[::1]:3000');
    expect(Object.isFrozen(config) && Object.isFrozen(config.outboundAllow)).toBe(true);
  });

  test.each([
    ['HOST', 'not a host', 'an address or a host name to listen on'],
    ['PORT', '65536', 'a port from 0 to 65535'],
    ['PORT', '-1', 'a port from 0 to 65535'],
    ['PUBLIC_URL', 'rollcall.example.com', 'the http or https address'],
    ['PUBLIC_URL', 'ftp://rollcall.example.com', 'the http or https address'],
    ['PUBLIC_URL', 'https://rollcall.example.com/?a=1', 'the http or https address'],
    ['MAIL_FROM', 'nobody', 'a sender such as'],
    ['OUTBOUND_ALLOW', '10.0.0', '"10.0.0" is none'],
    ['OUTBOUND_ALLOW', '10.0.0.0/33', '"10.0.0.0/33" is none'],
    ['OUTBOUND_ALLOW', '10.0/8', '"10.0/8" is none'],
    ['TRUSTED_PROXIES', '10.0.0.0/8,localhost', '"localhost" is none'],
    ['BLIND_SETTLE', '0s', 'a duration above zero'],
    ['BLIND_SETTLE', 'soon', 'a duration above zero'],
    ['LOG_LEVEL', 'loud', 'one of trace, debug, info'],
    ['OIDC_ISSUER', 'http://login.example.com', 'the https address of an OpenID provider'],
    ['OIDC_ISSUER', 'https://login.example.com/?tenant=1', 'the https address of an OpenID provider'],
  ])('says in one line what is wrong with %s=%s', (name, value, accepted) => {
    const line = refusal({ [name]: value });
    expect(line.startsWith(`${name} is ${JSON.stringify(value)}, but it must be `)).toBe(true);
    expect(line).toContain(accepted);
    expect(line).not.toContain('\n');
  });

  test.each([
    ['DATABASE_URL', 'mysql://root:hunter2@db/x'],
    ['DATABASE_URL', 'postgres://u:100%hunter2@db/x'],
    ['SMTP_URL', 'http://u:hunter2@mail'],
    ['WATCHDOG_URL', 'hunter2'],
    ['ROLLCALL_API_KEY', 'hunter2'],
    ['ROLLCALL_PING_KEY', 'hunter2 with spaces and more'],
    ['PUBLIC_URL', 'http://u:hunter2@rollcall.example.com'],
  ])('never repeats the secret in %s', (name, value) => {
    const line = refusal({ [name]: value });
    expect(line).toMatch(new RegExp(`^${name}.* must be [^\\n]+$`));
    expect(line).not.toContain('hunter2');
  });

  test('takes a sign-in provider as a whole, and names what is missing of half a one', () => {
    const whole = {
      OIDC_ISSUER: 'https://login.example.com/realms/main/',
      OIDC_CLIENT_ID: 'rollcall',
      OIDC_CLIENT_SECRET: 's',
    };
    expect(valid(whole).oidc).toEqual({
      issuer: 'https://login.example.com/realms/main',
      clientId: 'rollcall',
      clientSecret: 's',
      name: 'single sign-on',
    });
    expect(valid({ ...whole, OIDC_ISSUER: 'http://127.0.0.1:9000', OIDC_NAME: 'Acme ID' }).oidc).toMatchObject({
      issuer: 'http://127.0.0.1:9000',
      name: 'Acme ID',
    });
    expect(refusal({ OIDC_ISSUER: 'https://login.example.com' })).toBe(
      'OIDC_CLIENT_ID and OIDC_CLIENT_SECRET must be set too: the three OIDC_ variables belong together',
    );
    expect(refusal({ OIDC_CLIENT_SECRET: 'hunter2' })).not.toContain('hunter2');
    expect(valid({ OIDC_NAME: 'Acme ID' }).oidc).toBeNull();
  });
});
