// What the pages gain with JavaScript. Without it every page is complete.

// The zone of the person who looks, so that the server can show their time beside the job's.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone) {
  const secure = location.protocol === 'https:' ? '; Secure' : '';
  document.cookie = `zone=${encodeURIComponent(zone)}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
}

// "in 4 min" and "3 min ago" go on by themselves; the wording is that of pages/time.tsx.
const UNITS = [
  [86400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
];
function spoken(seconds) {
  const whole = Math.abs(seconds);
  const found = UNITS.findIndex(([size]) => whole >= size);
  const index = found === -1 ? UNITS.length - 1 : found;
  const [size, unit] = UNITS[index];
  const next = UNITS[index + 1];
  const rest = next && index < 2 ? Math.floor((whole % size) / next[0]) : 0;
  return `${Math.floor(whole / size)} ${unit}${rest > 0 ? ` ${rest} ${next[1]}` : ''}`;
}
// By the server's clock: this machine's may be wrong.
const served = Number(document.documentElement.dataset.now);
const skew = Number.isFinite(served) ? served - Date.now() : 0;
function countOn() {
  for (const element of document.querySelectorAll('[data-from]')) {
    const seconds = Math.trunc((Number(element.dataset.from) - Date.now() - skew) / 1000);
    const text = seconds >= 0 ? `in ${spoken(seconds)}` : `${spoken(seconds)} ago`;
    if (element.textContent !== text) element.textContent = text;
  }
}
setInterval(countOn, 1000);

document.addEventListener('click', async (event) => {
  const button = event.target.closest?.('button[data-copies]');
  if (!button) return;
  const source = document.getElementById(button.dataset.copies);
  await navigator.clipboard.writeText(source.textContent.trim());
  const before = button.textContent;
  button.textContent = 'Copied';
  setTimeout(() => {
    button.textContent = before;
  }, 1500);
});

// A form that destroys asks once more.
document.addEventListener('submit', (event) => {
  const question = event.submitter?.dataset.asks ?? event.target.dataset.asks;
  if (question && !confirm(question)) event.preventDefault();
});
for (const button of document.querySelectorAll('button[data-copies]')) button.hidden = false;

// A field is as wrong as what is said about it, which a preview may have changed.
document.addEventListener('htmx:after:swap', () => {
  for (const said of document.querySelectorAll('.wrong[id]')) {
    const isWrong = said.textContent.trim() !== '';
    for (const field of document.querySelectorAll(`:is(input, select, textarea)[aria-describedby~="${said.id}"]`)) {
      if (isWrong) field.setAttribute('aria-invalid', 'true');
      else field.removeAttribute('aria-invalid');
    }
  }
});

// A link to something folded opens it.
function unfold() {
  const target = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  if (target instanceof HTMLDetailsElement) target.open = true;
}
addEventListener('hashchange', unfold);
unfold();
