// A preload for a node whose own clock is wrong: SHIFT_MS is how far. Waiting and the monotonic clock are left alone.
const shift = Number(process.env.SHIFT_MS ?? 0);
const RealDate = Date;

globalThis.Date = class ShiftedDate extends RealDate {
  constructor(...parts) {
    if (parts.length === 0) super(RealDate.now() + shift);
    else super(...parts);
  }

  static now() {
    return RealDate.now() + shift;
  }
};
