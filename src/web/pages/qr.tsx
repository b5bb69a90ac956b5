import type { FC } from 'hono/jsx';
import { encode } from 'uqr';

/** A text as a QR code, dark on light whatever the theme, or cameras do not read it. */
export const QrCode: FC<{ text: string; label: string }> = ({ text, label }) => {
  const { data, size } = encode(text, { border: 3 });
  const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label} shape-rendering="crispEdges">
      <path fill="#fff" d={`M0 0h${size}v${size}H0z`} />
      <path fill="#000" d={dark.join('')} />
    </svg>
  );
};
