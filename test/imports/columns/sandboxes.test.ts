import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { readColumns } from '../../../src/imports/files/column-reader.ts'
import { columnFile } from '../../support/imports/column-files.ts'

const limits = { timeMs: 60_000, cpuSeconds: 60, memoryBytes: 1024 ** 3, fileBytes: 0 }

for (const sandbox of ['bubblewrap', 'unshare', 'none'] as const) {
  test(`Parquet is read by the same program in ${sandbox}`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'cartage-columns-'))
    t.after(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, 'input.parquet'), columnFile('pyarrow.parquet'))
    const input = {
      kind: 'parquet',
      folder,
      file: 'input.parquet',
      bytes: 12_000,
      name: 'a.parquet',
    } as const
    const run = readColumns(
      { missing: 'GDAL', sandbox, limits },
      { ...input, isInArchive: false },
      { isTransformed: true, isMixed: false },
      new AbortController().signal,
    )
    const [dump, end] = await Promise.all([text(run.stdout), run.ended])
    assert.equal(end.exitCode, 0, end.stderr)
    assert.match(
      dump,
      /^BEGIN;\nCREATE TABLE "public"."rows" [\s\S]*0\.14285714285714285[\s\S]*\n\\\.\nCOMMIT;\n$/,
    )
  })
}
