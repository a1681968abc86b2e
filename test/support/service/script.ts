import { join } from 'node:path'

/** What tests run in a process of its own. */
export const scripts = [
  'chaos/run.ts',
  'test/support/keys/act-on-key.ts',
  'test/support/service/cartage.ts',
  'test/support/postgres/hold-cluster.ts',
  'test/support/keys/killed-act.ts',
  'test/support/service/killed-move.ts',
] as const

/** What Node runs as the script: what test/run.ts has made of it, or the source for a test that runs by itself. */
export function scriptArgs(script: (typeof scripts)[number]): string[] {
  const compiled = process.env.CARTAGE_TEST_COMPILED
  if (compiled) return ['--enable-source-maps', join(compiled, script.replace(/\.ts$/, '.mjs'))]
  return ['--import', import.meta.resolve('tsx'), join(import.meta.dirname, '../../..', script)]
}
