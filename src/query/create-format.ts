import { CsvFormat } from './csv-format.ts'
import { GeojsonFormat } from './geojson-format.ts'
import { JsonFormat } from './json-format.ts'
import { NdjsonFormat } from './ndjson-format.ts'
import type { Query } from './query.ts'
import type { RowFormat } from './row-format.ts'

export function createFormat(query: Query): RowFormat {
  switch (query.format) {
    case 'json':
      return new JsonFormat(query)
    case 'ndjson':
      return new NdjsonFormat(query)
    case 'geojson':
      return new GeojsonFormat(query)
    case 'csv':
      return new CsvFormat(query)
  }
}
