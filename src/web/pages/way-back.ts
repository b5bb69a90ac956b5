/**
 * Where to go after the sign-in: the path that was asked for, if it is one of ours. Browsers read `//host`, `/\\host` and
 * what is behind tabs and line breaks as other sites; a path that a URL parser leaves as it is, is none of these.
 */
export function wayBack(to: unknown): string {
  if (typeof to !== 'string' || !/^\/(?![/\\])/.test(to) || to.length > 2000) return '/';
  const ours = 'http://rollcall.invalid';
  if (!URL.canParse(to, ours)) return '/';
  const url = new URL(to, ours);
  // `/..//host` is a path of ours that begins with two slashes once it is read.
  return url.origin === ours && !url.pathname.startsWith('//') ? url.pathname + url.search : '/';
}
