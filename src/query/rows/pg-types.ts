/** How PostgreSQL's text for a value is turned into JSON. */
export const valueKind = {
  hidden: 0,
  text: 1,
  number: 2,
  boolean: 3,
  json: 4,
  jsonb: 5,
  timestamp: 6,
  timestamptz: 7,
  date: 8,
  array: 9,
  binary: 10,
} as const

export type ValueKind = (typeof valueKind)[keyof typeof valueKind]
export type FieldType = 'number' | 'string' | 'boolean' | 'date'

type BuiltInType = Readonly<{
  kind: ValueKind
  /** How an answer describes a column of this type. */
  field: Readonly<{ type: FieldType | `${FieldType}[]`; pgtype: string }>
  elementOid?: number
}>

/** Types whose OIDs are the same in every database. Others (geometry, enums) are looked up by OID. */
export const builtInTypes: ReadonlyMap<number, BuiltInType> = new Map([
  ...types('boolean', 'boolean', [['bool', 16, 1000]]),
  ...types('number', 'number', [
    ['int2', 21, 1005],
    ['int4', 23, 1007],
    ['int8', 20, 1016],
    ['float4', 700, 1021],
    ['float8', 701, 1022],
    ['numeric', 1700, 1231],
    ['oid', 26, 1028],
  ]),
  ...types('timestamp', 'date', [['timestamp', 1114, 1115]]),
  ...types('timestamptz', 'date', [['timestamptz', 1184, 1185]]),
  ...types('date', 'date', [['date', 1082, 1182]]),
  ...types('json', 'string', [['json', 114, 199]]),
  ...types('jsonb', 'string', [['jsonb', 3802, 3807]]),
  ...types('text', 'string', [
    ['text', 25, 1009],
    ['varchar', 1043, 1015],
    ['bpchar', 1042, 1014],
    ['char', 18, 1002],
    ['name', 19, 1003],
    ['unknown', 705, 0],
    ['void', 2278, 0],
    ['cstring', 2275, 1263],
    ['uuid', 2950, 2951],
    ['bytea', 17, 1001],
    ['interval', 1186, 1187],
    ['time', 1083, 1183],
    ['timetz', 1266, 1270],
    ['money', 790, 791],
    ['inet', 869, 1041],
    ['cidr', 650, 651],
    ['macaddr', 829, 1040],
    ['bit', 1560, 1561],
    ['varbit', 1562, 1563],
    ['xml', 142, 143],
    ['point', 600, 1017],
    ['tsvector', 3614, 3643],
    ['regclass', 2205, 2210],
    ['regtype', 2206, 2211],
    ['regproc', 24, 1008],
    ['record', 2249, 2287],
  ]),
])

function types(
  kind: keyof typeof valueKind,
  fieldType: FieldType,
  list: readonly (readonly [name: string, oid: number, arrayOid: number])[],
): [number, BuiltInType][] {
  return list.flatMap(([name, oid, arrayOid]): [number, BuiltInType][] => {
    const scalar = { kind: valueKind[kind], field: { type: fieldType, pgtype: name } }
    const array = {
      kind: valueKind.array,
      field: { type: `${fieldType}[]` as const, pgtype: `_${name}` },
      elementOid: oid,
    }
    return arrayOid === 0
      ? [[oid, scalar]]
      : [
          [oid, scalar],
          [arrayOid, array],
        ]
  })
}

export function kindOf(typeOid: number): ValueKind {
  return builtInTypes.get(typeOid)?.kind ?? valueKind.text
}

export function elementOidOf(arrayOid: number): number {
  return builtInTypes.get(arrayOid)?.elementOid ?? 0
}
