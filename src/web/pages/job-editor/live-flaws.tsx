import type { FC } from 'hono/jsx';

type Flaws = ReadonlyMap<string, string>;

/** `after`: that jobs wait for each other in a circle is only found in saving. */
const isFollowed = (field: string): boolean => field !== 'after' && /^[a-z_]+(?:\.[a-z_]+)?$/.test(field);

/** Where a field of the form says what is wrong with it. */
function placeOf(field: string): string {
  if (field === 'missed_runs') return 'policy-wrong';
  const [name, kind] = field.split('.');
  return name === 'alert_after' && kind !== undefined ? `wrong-${kind}` : `f-${field}-wrong`;
}

/** The fields with an error on this page, for the preview to follow; nothing where there is none. */
export const ToldFlaws: FC<{ flaws: Flaws }> = ({ flaws }) =>
  flaws.size === 0 ? null : <input type="hidden" name="told" value={[...flaws.keys()].join(' ')} />;

/** What is said above a form that was refused; `count`: how many fields still need a change. */
export const StillWrong: FC<{ count: number }> = ({ count }) => (
  <p class="trouble" role="alert" id="still-wrong">
    {stillText(count)}
  </p>
);

function stillText(count: number): string {
  if (count === 0) return 'Nothing is saved yet: what was wrong is mended, and it can be saved.';
  return `Nothing is saved yet: ${count === 1 ? 'one field needs' : `${count} fields need`} a change.`;
}

/** Beside a preview: what is wrong by now with the fields that the page told of, each in its place. */
export const LiveFlaws: FC<{ told: string; flaws: Flaws }> = ({ told, flaws }) => {
  const fields = told.split(' ').filter((field) => field !== '');
  const count = flaws.size + (fields.includes('after') && !flaws.has('after') ? 1 : 0);
  return (
    <>
      {fields.filter(isFollowed).map((field) => (
        <hx-partial hx-target={`#${placeOf(field)}`} hx-swap="innerHTML">
          {flaws.get(field) ?? ''}
        </hx-partial>
      ))}
      {fields.length === 0 ? null : (
        <hx-partial hx-target="#still-wrong" hx-swap="innerMorph">
          {stillText(count)}
        </hx-partial>
      )}
    </>
  );
};
