import { deflateRawSync, crc32 as nodeCrc32 } from 'node:zlib'

export type ZipFile = Readonly<{
  name: string
  content: string | Buffer
  /** Of Unix: 0o120777 is a link. */
  mode?: number
  isEncrypted?: boolean
  /** The size that the archive claims. */
  size?: number
}>

/** A zip file, also an invalid one. */
export function zipOf(files: readonly ZipFile[]): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const file of files) {
    const content = Buffer.from(file.content)
    const packed = deflateRawSync(content)
    const name = Buffer.from(file.name)
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt16LE(file.isEncrypted ? 0x801 : 0x800, 2)
    fields.writeUInt16LE(8, 4)
    fields.writeUInt32LE(crc32(content), 10)
    fields.writeUInt32LE(packed.length, 14)
    fields.writeUInt32LE(file.size ?? content.length, 18)
    fields.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), fields, name, packed])
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(((file.mode ?? 0o100644) << 16) >>> 0, 6)
    rest.writeUInt32LE(offset, 10)
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 3]), fields, rest, name]))
    parts.push(local)
    offset += local.length
  }
  const central = Buffer.concat(directory)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(files.length, 4)
  end.writeUInt16LE(files.length, 6)
  end.writeUInt32LE(central.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...parts, central, Buffer.from('PK\x05\x06'), end])
}

/** Node has it from 20.15 on. */
const crc32 = (bytes: Buffer): number => nodeCrc32(bytes)
