/** How many cases a generative test tries: these in the suite, CARTAGE_TEST_MORE times as many on request. */
export const cases = (inSuite: number) => Math.ceil(inSuite * Number(process.env.CARTAGE_TEST_MORE ?? 1))
