import fc from 'fast-check';

/** The same few cases for every mutant, and no search for the smallest one that tells it apart. */
fc.configureGlobal({ seed: 20_260_302, numRuns: 40, endOnFailure: true });
