import assert from 'node:assert/strict'
import { utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { listBackups, openFromFolder } from '../../src/accounts/restore/backup-folder.ts'
import { tarEntry } from '../../src/cli/backup/tar-entry.ts'
import { newDataDir } from '../support/service/data-dir.ts'
import { eventually } from '../support/service/setup.ts'

const good = {
  format: 1,
  version: '0.2.0',
  postgres: 17,
  namespace: 'cartage',
  created_at: '2026-05-01T10:00:00.123Z',
  has_secret: false,
}

test('a file whose note has a wrong or missing member is not a backup', async (t) => {
  const folder = await newDataDir(t)
  const put = (name: string, content: unknown) =>
    writeFile(join(folder, name), tarEntry('cartage.json', Buffer.from(JSON.stringify(content))))
  await put('good.tar', good)
  const wrong: Readonly<Record<string, readonly unknown[]>> = {
    format: [undefined, 2, '1'],
    version: [undefined, null, 1, '', '<b>', 'x'.repeat(101)],
    postgres: [undefined, null, '17', 17.5],
    namespace: [undefined, 1, '', 'postgres"; drop', 'A', 'x'.repeat(32)],
    created_at: [
      ...[
        undefined,
        null,
        0,
        '',
        'infinity',
        '-infinity',
        'now',
        'epoch',
        '2026-05-01',
        '275761-01-01T00:00:00.000Z',
      ],
      ...['+275760-01-01T00:00:00.000Z', '-000001-01-01T00:00:00.000Z', '0000-01-01T00:00:00.000Z'],
      ...['2026-02-30T00:00:00.000Z', '2026-05-01T10:00:00.123+02:00', ['2026-05-01T10:00:00.123Z']],
    ],
    has_secret: [undefined, null, 0, 'false'],
  }
  const others: unknown[] = [null, 1, 'note', [good]]
  for (const [member, values] of Object.entries(wrong))
    for (const value of values) others.push({ ...good, [member]: value })
  for (const [place, content] of others.entries()) {
    await put(`${place}.tar`, content)
    await assert.rejects(
      openFromFolder(folder, `${place}.tar`),
      /is not a backup of Cartage/,
      JSON.stringify(content),
    )
  }
  assert.deepEqual(
    (await listBackups(folder)).map(({ file, created_at }) => [file, created_at]),
    [['good.tar', good.created_at]],
  )
})

test('a header with a negative size is not waited for', async (t) => {
  const folder = await newDataDir(t)
  const entry = tarEntry('cartage.json', Buffer.from('{}'))
  entry.write('-0000001000\0', 124)
  await writeFile(join(folder, 'negative.tar'), entry)
  await assert.rejects(openFromFolder(folder, 'negative.tar'), /is not a backup of Cartage/)
})

test('an error of the file before it is unpacked is one for who reads it, and no other', async (t) => {
  const folder = await newDataDir(t)
  await writeFile(join(folder, 'good.tar'), tarEntry('cartage.json', Buffer.from(JSON.stringify(good))))
  const { tar } = await openFromFolder(folder, 'good.tar')
  tar.destroy(new Error('the disk is gone'))
  await eventually(() => assert.ok(tar.closed))
  await assert.rejects(async () => {
    for await (const _ of tar);
  }, /the disk is gone/)
})

test('of a folder with more files than are read, the newest are listed', async (t) => {
  const folder = await newDataDir(t)
  for (let n = 0; n < 1_000; n++) {
    const path = join(folder, `a${n}.txt`)
    await writeFile(path, 'not a backup')
    await utimes(path, 1, 1)
  }
  await writeFile(join(folder, 'z.tar'), tarEntry('cartage.json', Buffer.from(JSON.stringify(good))))
  const [one, same] = [listBackups(folder), listBackups(folder)]
  assert.deepEqual(
    (await one).map(({ file }) => file),
    ['z.tar'],
  )
  assert.equal(await one, await same)
})
