const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/**
 * A cron expression as `OnCalendar=` of systemd; null where the two have no common way to say it: names of months, the
 * letters L and #, and days of month and week that are both restricted, which cron adds up and systemd intersects.
 */
export function onCalendar(cron: string, zone: string): string | null {
  const [minute, hour, day, month, weekday, ...rest] = cron.split(' ');
  if (minute === undefined || hour === undefined || day === undefined || month === undefined) return null;
  if (weekday === undefined || rest.length > 0 || (!day.startsWith('*') && !weekday.startsWith('*'))) return null;
  const parts = [field(month, 1), field(day, 1), field(hour, 0), field(minute, 0), weekdays(weekday)];
  if (parts.some((part) => part === null)) return null;
  const [months, days, hours, minutes, names] = parts;
  return `${names === '' ? '' : `${names} `}*-${months}-${days} ${hours}:${minutes}:00 ${zone}`;
}

/** A list of numbers, ranges and steps; `first` is the least value, from which the steps of a star count. */
function field(text: string, first: number): string | null {
  if (text === '*') return '*';
  const parts = text.split(',').map((part) => element(part, first));
  return parts.every((part) => part !== null) ? parts.join(',') : null;
}

function element(text: string, first: number): string | null {
  const step = /^\*\/(\d+)$/.exec(text);
  if (step) return `${two(first)}/${step[1]}`;
  const range = /^(\d+)(?:-(\d+))?$/.exec(text);
  if (!range) return null;
  return range[2] === undefined ? two(Number(range[1])) : `${two(Number(range[1]))}..${two(Number(range[2]))}`;
}

const two = (value: number): string => String(value).padStart(2, '0');

/** Empty: every day. */
function weekdays(text: string): string | null {
  if (text === '*') return '';
  const parts = text.split(',').map((part) => {
    const range = /^([0-7])(?:-([0-7]))?$/.exec(part);
    if (!range) return null;
    const [from, to] = [WEEKDAYS[Number(range[1])], WEEKDAYS[Number(range[2])]];
    return range[2] === undefined ? from : `${from}..${to}`;
  });
  return parts.every((part) => part !== null) ? parts.join(',') : null;
}
