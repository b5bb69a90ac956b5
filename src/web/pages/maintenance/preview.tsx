import type { FC } from 'hono/jsx';
import type { Zone } from '../../../core/zone.ts';
import { StretchTable } from './stretch-table.tsx';
import type { WindowPreview } from './stretches.ts';

/** What the form means: the next windows, and what the clocks do to them. */
export const WindowPreviewPart: FC<{ preview: WindowPreview; viewerZone: Zone }> = ({ preview, viewerZone }) => {
  const { stretches, zone, now, flaws, clocks, note } = preview;
  return (
    <div class="stack" id="window-preview" aria-live="polite">
      <h2>The next windows</h2>
      {flaws.map(({ message }) => (
        <p class="wrong">{message}</p>
      ))}
      {note === null ? null : <p class="soft">{note}</p>}
      {stretches === null ? null : stretches.length === 0 ? (
        <p class="soft">None is to come. What nobody ran in its past is skipped when this is saved.</p>
      ) : (
        <StretchTable stretches={stretches} zone={zone ?? viewerZone} viewerZone={viewerZone} now={now} isNarrow />
      )}
      {clocks.map((sentence) => (
        <p class="soft">{sentence}</p>
      ))}
    </div>
  );
};
