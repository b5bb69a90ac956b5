import type { FC } from 'hono/jsx';

/** Something that is shown this once, to be copied. `id` is its own on the page. */
export const Secret: FC<{ id: string; label: string; value: string }> = ({ id, label, value }) => (
  <div class="stack-s">
    <strong>{label}</strong>
    <div class="copies">
      <pre class="wrap" id={id}>
        {value}
      </pre>
      <button type="button" class="small" data-copies={id} aria-label={`Copy: ${label}`} hidden>
        Copy
      </button>
    </div>
  </div>
);
