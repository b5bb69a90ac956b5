import type { Context } from 'hono';

/** The fields of a form, each as text; none where the body is no form. Of a field that was sent twice the last counts. */
export async function readForm(c: Context): Promise<Readonly<Record<string, string>>> {
  try {
    const body = await c.req.parseBody();
    return Object.fromEntries(
      Object.entries(body).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
    );
  } catch (error) {
    if (error instanceof TypeError) return {};
    throw error;
  }
}
