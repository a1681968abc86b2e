import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { checkData } from './check-data.mjs'
import { columnOf, geometryColumn } from './columns.mjs'
import { FileError } from './fail.mjs'

/** Writes batches of rows as GDAL's PGDUMP driver does: the columns, then COPY in text format. */
export class DumpWriter {
  #columns
  #rows = 0
  #bytes = 0
  #maxBytes

  constructor({ schema, geometries, rows = 0 }, { isFlat, maxBytes }) {
    const [main] = geometries
    const names = new Set([fid, geometryName])
    this.#maxBytes = maxBytes
    this.#check(rows * rowBytes)
    this.#columns = schema.fields.flatMap((field, place) => {
      const geometry = geometries.find((each) => each.place === place)
      if (geometry?.isComputed) return []
      const isMain = geometry !== undefined && geometry === main
      const column = geometry ? geometryColumn(geometry, { isFlat, isMain }) : columnOf(field)
      const name = isMain ? geometryName : freeName(field.name ?? '', names)
      return [{ ...column, name, place, isMain, srid: geometry?.srid }]
    })
    if (this.#columns.length === 0) throw new FileError(2001, 'the file has no columns')
  }

  async begin() {
    const table = `"public"."${layer}"`
    const lines = this.#columns.map(({ name, type, isMain, srid }) =>
      isMain || type === 'GEOMETRY'
        ? `SELECT AddGeometryColumn('public','${layer}',${literal(name)},${srid},'GEOMETRY',2);\n`
        : `ALTER TABLE ${table} ADD COLUMN ${quoted(name)} ${type};\n`,
    )
    // The first geometry column is the main one.
    const main = this.#columns.findIndex(({ isMain }) => isMain)
    if (main > 0) lines.unshift(...lines.splice(main, 1))
    const names = this.#columns.map(({ name }) => quoted(name)).join(', ')
    await print(
      `BEGIN;\nCREATE TABLE ${table} ( "${fid}" SERIAL, CONSTRAINT "${layer}_pk" PRIMARY KEY ("${fid}") );\n${lines.join('')}COPY ${table} (${names}) FROM STDIN;\n`,
    )
  }

  async write(batch) {
    const data = this.#columns.map(({ place }) => batch.data.children[place])
    for (const each of data) checkData(each, batch.numRows)
    let text = ''
    for (let row = 0; row < batch.numRows; row += 1) {
      for (let at = 0; at < data.length; at += 1) {
        text += at === 0 ? '' : '\t'
        text += this.#valueAt(this.#columns[at], data[at], row) ?? '\\N'
      }
      text += '\n'
      if (text.length > chunkLength) {
        await this.#send(text, row + 1)
        text = ''
      }
    }
    await this.#send(text, batch.numRows)
    this.#rows += batch.numRows
  }

  #valueAt(column, data, row) {
    try {
      return column.text(data, row)
    } catch (error) {
      if (!(error instanceof FileError)) throw error
      throw new FileError(
        error.code,
        `${error.message} in column ${column.name}, row ${this.#rows + row + 1}`,
      )
    }
  }

  async end() {
    await print('\\.\nCOMMIT;\n')
    const attributes = this.#columns.filter(({ isMain }) => !isMain)
    const rounded = attributes.flatMap((column, at) => (column.isRounded?.() ? [at] : []))
    if (rounded.length > 0) writeSync(2, `ROUNDED ${rounded.join(',')}\n`)
  }

  /** `row`: how many of the batch were written. */
  async #send(text, row) {
    const bytes = Buffer.from(text)
    this.#bytes += bytes.length
    this.#check(this.#bytes + (this.#rows + row) * rowBytes)
    if (bytes.length > 0) await print(bytes)
  }

  #check(bytes) {
    if (this.#maxBytes > 0 && bytes > this.#maxBytes)
      throw new FileError(6666, `The rows of the file take more than ${this.#maxBytes} bytes`)
  }
}

async function print(bytes) {
  if (!process.stdout.write(bytes)) await once(process.stdout, 'drain')
}

/** The second column `a` is `a_1`. */
function freeName(name, used) {
  let free = name
  for (let count = 1; used.has(free); count += 1) free = `${name}_${count}`
  used.add(free)
  return free
}

const quoted = (name) => `"${name.replaceAll('"', '""')}"`
const literal = (text) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`

const layer = 'rows'
const fid = 'cartage_fid'
const geometryName = 'cartage_geometry'
const chunkLength = 256 * 1024
/** What a row takes in PostgreSQL beside its values. */
const rowBytes = 28
