import type { FieldError } from '../../core/schedule.ts';
import type { BrokenJob } from '../../engine/changing.ts';
import { problem } from '../problem.ts';

/** 400: everything that is wrong with what was sent, at once. */
export function invalid(errors: readonly FieldError[]): Response {
  const [first, ...others] = errors.map(({ path, message }) =>
    message.startsWith(path) ? message : `${path}: ${message}`,
  );
  const rest = others.length > 0 ? ` (and ${others.length} more: see errors)` : '';
  const detail = first === undefined ? 'the request cannot be read' : first + rest;
  return problem(400, { type: 'validation', detail, errors });
}

/** 400 or 413: the body as a whole cannot be read. */
export function unreadable(status: 400 | 413, detail: string): Response {
  return problem(status, { type: status === 413 ? 'too_large' : 'validation', detail, errors: [] });
}

/** 404: the thing is not there, or belongs to another project. */
export function notFound(detail: string): Response {
  return problem(404, { type: 'not_found', detail });
}

/** 404 for a job; the slug is repeated only where it could be one. */
export function noSuchJob(): Response {
  return notFound('there is no job of this slug in the project: GET /api/v1/jobs lists them');
}

/** 409: nothing of the job can be judged, so nothing of it is changed or handed out until it is defined anew. */
export function brokenJob({ slug, message }: BrokenJob): Response {
  const detail = `the stored schedules of job ${slug} make no sense (${message}), so nothing of it is judged, changed or handed out; define it anew with PUT /api/v1/jobs/${slug}, or delete it`;
  return problem(409, { type: 'schedule_error', detail });
}
