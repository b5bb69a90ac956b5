/** Does the work when it is its turn. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

/** At most so many at once; the others wait in line. */
export function limited(most: number): InTurn {
  const line: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= most) await new Promise<void>((resolve) => line.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      const next = line.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
