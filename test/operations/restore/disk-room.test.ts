import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { keepingReserve, roomOfDisk } from '../../../src/files/disk-room.ts'

const mib = 1024 ** 2

test('a backup is unpacked only as long as the disk keeps its reserve', async () => {
  const unpacked = async (totalBytes: number, freeBytes: number, bytes: number) => {
    let written = 0
    const look = async () => ({ totalBytes, freeBytes: freeBytes - written })
    const chunk = Buffer.alloc(mib)
    const source = (async function* () {
      for (let sent = 0; sent < bytes; sent += mib) yield chunk
    })()
    try {
      for await (const { length } of keepingReserve(source, look, () => new Error('full'))) written += length
    } catch (error) {
      assert.match(String(error), /full/)
      return { written, isWhole: false }
    }
    return { written, isWhole: true }
  }
  const gib = 1024 * mib
  assert.deepEqual(await unpacked(100 * gib, 3 * gib, gib), { written: gib, isWhole: true })
  // 1 GiB stays free of a large disk, and a twentieth of a small one; it looks each 64 MiB.
  assert.deepEqual(await unpacked(100 * gib, 1.5 * gib, 2 * gib), { written: 512 * mib, isWhole: false })
  assert.deepEqual(await unpacked(2 * gib, 300 * mib, 2 * gib), { written: 256 * mib, isWhole: false })
  assert.deepEqual(await unpacked(100 * gib, gib, mib), { written: 0, isWhole: false })
})

test('the room of a disk is told', async () => {
  const { freeBytes, totalBytes } = await roomOfDisk(tmpdir())
  assert.ok(freeBytes > 0 && freeBytes < totalBytes)
})
