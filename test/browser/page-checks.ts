import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** One thing that is wrong, and where. */
export type Finding = string;

/** The rules of axe whose answer hangs on the theme or on the width. */
const OF_LOOKS = ['color-contrast', 'target-size', 'scrollable-region-focusable', 'link-in-text-block', 'label'];

/** What axe finds, of every impact. It is brought in past the page's policy, which it does not break. */
export async function axeFindings(page: Page, { all }: { readonly all: boolean }): Promise<Finding[]> {
  await page.evaluate(`typeof axe === 'undefined' && (() => { ${AXE} })()`);
  const options = { resultTypes: ['violations'], ...(all ? {} : { runOnly: OF_LOOKS }) };
  const { violations } = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as AxeResults;
  return violations.flatMap(({ id, impact, help, nodes }) =>
    nodes.map(({ target, failureSummary = '' }) => {
      const why = failureSummary.split('\n').slice(1).join(';').trim();
      return `${impact} ${id}: ${help} @ ${target.join(' ')} (${why})`;
    }),
  );
}

/** What every page has to be, beside what axe asks. */
export async function shapeFindings(page: Page): Promise<Finding[]> {
  return (await page.evaluate(`(${shapeInPage})()`)) as Finding[];
}

/** Runs in the page. */
const shapeInPage = `() => {
  const found = [];
  const add = (what, element) => found.push(element ? what + ' @ ' + element.outerHTML.slice(0, 160) : what);
  if (document.title.trim() === '') add('no title');
  if (document.querySelectorAll('h1').length !== 1) add(document.querySelectorAll('h1').length + ' h1');
  if (document.documentElement.lang !== 'en') add('no language');
  for (const time of document.querySelectorAll('time')) {
    if (!/[+-]\\d\\d:\\d\\d|UTC|Z$/.test(time.textContent)) add('a time without its offset', time);
    if (Number.isNaN(Date.parse(time.dateTime))) add('a time no machine reads', time);
  }
  for (const element of document.querySelectorAll('[style]')) add('an inline style', element);
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
  for (const id of new Set(ids)) if (ids.indexOf(id) !== ids.lastIndexOf(id)) add('an id twice: ' + id);
  for (const { hash, pathname, outerHTML } of document.links) {
    const leads = pathname !== location.pathname || hash.length < 2 || document.getElementById(decodeURIComponent(hash.slice(1)));
    if (!leads) found.push('a link to nothing on this page @ ' + outerHTML.slice(0, 160));
  }
  return found;
}`;

/** What is wider than the screen: the whole page, with what sticks out of it; and what is cut off inside of it. */
export async function widthFindings(page: Page): Promise<Finding[]> {
  return (await page.evaluate(`(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    const all = [...document.querySelectorAll('body *')];
    const text = (e) => e.outerHTML.slice(0, 100);
    const cut = all.filter((e) => {
      const { overflowX, textOverflow, position } = getComputedStyle(e);
      const hides = ['hidden', 'clip'].includes(overflowX) && textOverflow !== 'ellipsis' && position !== 'absolute';
      // What is typed into a field scrolls.
      return hides && e.tagName !== 'INPUT' && e.scrollWidth > e.clientWidth + 1;
    });
    const wide = scrollWidth <= clientWidth ? [] : all.filter((e) => e.getBoundingClientRect().right > clientWidth + 0.5);
    return [
      ...(scrollWidth <= clientWidth ? [] : ['wider than the screen by ' + (scrollWidth - clientWidth) + ' px @ ' + wide.slice(0, 4).map(text).join(' | ')]),
      ...cut.map((e) => 'cut off by ' + (e.scrollWidth - e.clientWidth) + ' px of ' + e.clientWidth + ' @ ' + text(e)),
    ];
  })()`)) as Finding[];
}

/** Every element that takes the focus shows it. The Tab before makes the browser show focus at all. */
export async function focusFindings(page: Page): Promise<Finding[]> {
  await page.keyboard.press('Tab');
  return (await page.evaluate(`(() => {
    const found = [];
    const all = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]';
    for (const element of document.querySelectorAll(all)) {
      element.focus();
      if (document.activeElement !== element) continue;
      const look = (one) => { const s = getComputedStyle(one); return (s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0) || s.boxShadow !== 'none'; };
      // In a drawing it is the shape inside that lights up.
      if (!look(element) && ![...element.children].some(look)) found.push('focus is not visible @ ' + element.outerHTML.slice(0, 160));
    }
    document.activeElement?.blur();
    return found;
  })()`)) as Finding[];
}
