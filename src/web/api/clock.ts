import { z } from '@hono/zod-openapi';
import { formatInstant } from '../../core/time.ts';
import { trustClock } from '../../engine/clock-trust.ts';
import type { ApiDeps } from './deps.ts';
import type { Endpoint } from './endpoint.ts';

const trustedSchema = z
  .strictObject({
    now: z.string().describe("What the database's clock says."),
    heard_until: z
      .string()
      .nullable()
      .describe(
        'The last sign of life before, while the clock was in doubt; null: it was not, and nothing has changed.',
      ),
  })
  .openapi('Clock');

/** The one call that is possible while the clock is in doubt. */
export function clockEndpoints({ database }: Pick<ApiDeps, 'database'>): readonly Endpoint[] {
  return [
    {
      tag: 'Rollcall itself',
      method: 'post',
      path: '/clock/trust',
      id: 'trustClock',
      summary: 'Says that the clock is right, although it is in doubt',
      description:
        'The clock is in doubt while it is more than 400 days from the last sign of life: pings are kept, nothing is judged or changed. What nobody heard becomes a blind window.',
      isForDoubt: true,
      answers: { 200: { description: 'The clock is believed.', schema: trustedSchema } },
      run: async (_, caller) => {
        const { now, heardUntil } = await trustClock(database, caller);
        const heard_until = heardUntil === null ? null : formatInstant(heardUntil);
        return Response.json({ now: formatInstant(now), heard_until });
      },
    },
  ];
}
