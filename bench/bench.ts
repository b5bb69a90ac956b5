import { expansionBench, expansionLines } from './expansion.ts';
import { pageBench, pageLines } from './pages.ts';
import { pingBench, pingLines } from './pings.ts';

/** Everything that is measured, one after the other, so that no part disturbs another: `npm run bench`, about a minute. */
const progress = (line: string): void => console.error(`… ${line}`);

progress('expansion of schedules');
for (const line of expansionLines(await expansionBench())) console.log(line);
for (const line of pingLines(await pingBench(progress))) console.log(line);
for (const line of pageLines(await pageBench(progress))) console.log(line);
