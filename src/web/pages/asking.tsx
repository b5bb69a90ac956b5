import type { Child, FC } from 'hono/jsx';

/**
 * Asks before something is gone for good: a page of its own, reached by GET, whose form does it. So it asks without
 * JavaScript too. The children say what hangs on it.
 */
export const Asking: FC<{
  /** The question, as a heading. */
  title: string;
  /** What the button says: a verb, and on what. */
  verb: string;
  /** Where the form is sent; left out: to the address of this page. */
  action?: string;
  fields?: Readonly<Record<string, string>>;
  /** Where whoever keeps it goes. */
  back: string;
  /** Below another heading. */
  isPart?: boolean;
  children?: Child;
}> = ({ title, verb, action, fields = {}, back, isPart = false, children }) => (
  <section class="stack" aria-labelledby="asking">
    {isPart ? <h2 id="asking">{title}</h2> : <h1 id="asking">{title}</h1>}
    {children}
    <div class="row">
      <form method="post" {...(action === undefined ? {} : { action })}>
        {Object.entries(fields).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        <button type="submit" class="danger">
          {verb}
        </button>
      </form>
      <a href={back}>Keep it</a>
    </div>
  </section>
);
