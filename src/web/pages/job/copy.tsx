import type { FC } from 'hono/jsx';

/** Text to copy, with a button where there is JavaScript. `id` is unique on its page. */
export const Copy: FC<{ id: string; text: string; label?: string }> = ({ id, text, label }) => (
  <div class="copies">
    <button
      type="button"
      class="small"
      data-copies={id}
      aria-label={`Copy${label === undefined ? '' : ` ${label}`}`}
      hidden
    >
      Copy
    </button>
    {/* It may be wider than the screen: then the keyboard must reach it to scroll. */}
    <pre id={id} tabindex={0} class={text.includes('\n') ? '' : 'wrap'}>
      <code>{text}</code>
    </pre>
  </div>
);
