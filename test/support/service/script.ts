import { join } from 'node:path'

/** Scripts that tests run in their own process. */
export const scripts = [
  'chaos/run.ts',
  'test/support/keys/act-on-key.ts',
  'test/support/service/cartage.ts',
  'test/support/postgres/hold-cluster.ts',
  'test/support/keys/killed-act.ts',
  'test/support/service/killed-move.ts',
] as const

/** What Node runs as the script: the form compiled by test/run.ts, or the source for a test that runs alone. */
export function scriptArgs(script: (typeof scripts)[number]): string[] {
  const compiled = process.env.CARTAGE_TEST_COMPILED
  if (compiled) return ['--enable-source-maps', join(compiled, script.replace(/\.ts$/, '.mjs'))]
  return ['--import', import.meta.resolve('tsx'), join(import.meta.dirname, '../../..', script)]
}
