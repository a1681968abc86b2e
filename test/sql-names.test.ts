import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Lexeme, lexemes } from '../src/sql-text/lexemes.ts'
import { setup } from './support/service/setup.ts'

// In a tenant's session an unqualified name may be an object of the tenant. So whatever runs there names the schema of
// every function, operator and type, or sets the search_path to pg_catalog first.

const root = fileURLToPath(new URL('../src', import.meta.url))

test('the check finds unqualified functions, operators and types', () => {
  assert.deepEqual(bareNames('select lower(a), b::text from x.y where a = any($1) and b <> c'), [
    'lower()',
    '::text',
    '=',
    '<>',
  ])
  assert.deepEqual(
    bareNames(`select pg_catalog.count(*), x.*, a::pg_catalog.text from pg_catalog.pg_class c
      where exists (select) and c.oid operator(pg_catalog.=) any($1) and b in ('=', "<")`),
    [],
  )
})

test("no statement of the service in a tenant's session has an unqualified name", async () => {
  const files = await sourceFiles()
  const onTenants = files.filter(
    ({ text }) => !isAdministrators(text) && !/(queryInCatalog|askCatalogAs(Master)?)[<(]/.test(text),
  )
  const culprits = onTenants.flatMap(({ path, text }) =>
    sqlTexts(text).flatMap((sql) =>
      bareNames(sql).map((name) => `${path}: ${name} in ${sql.trim().slice(0, 80)}`),
    ),
  )
  assert.deepEqual(culprits, [])
  const checked = onTenants.filter(({ text }) => sqlTexts(text).length > 0).map(({ path }) => path)
  for (const path of ['worker/statement.ts', 'query/type-names.ts', 'tables/account-usage.ts']) {
    assert.ok(checked.includes(path), path)
  }
})

test('the administrator and catalog queries see only the catalog', async (t) => {
  const { service } = await setup(t)
  const { databases } = service.services
  const { adminTarget } = await import('../src/postgres/session-target.ts')
  const { rows } = await databases.admin.use(adminTarget(databases.hosts, 1), (session) =>
    session.query<{ search_path: string }>('show search_path'),
  )
  assert.deepEqual(rows, [{ search_path: 'pg_catalog' }])
})

test('every function in a tenant database is bound, has its own search_path, or has no unqualified name', async (t) => {
  const { user, admin } = await setup(t)
  const { rows } = await admin(
    `select oid::regprocedure::text as name, prosrc as body from pg_proc
     where pronamespace in ('cartodb'::regnamespace, 'cartage'::regnamespace) and prosqlbody is null
       -- Schema postgis is the operator's, too.
       and not coalesce(
         proconfig && '{"search_path=pg_catalog, pg_temp","search_path=pg_catalog, postgis, pg_temp"}', false)`,
    [],
    user.account.database,
  )
  assert.ok(rows.length < 10, 'few do without a search_path')
  const culprits = rows.flatMap(({ name, body }) => bareNames(body).map((bare) => `${name}: ${bare}`))
  assert.deepEqual(culprits, [])
})

test('no function of the service sets a role', async (t) => {
  const { user, admin } = await setup(t)
  const { rows } = await admin(
    String.raw`select oid::regprocedure::text as name from pg_proc
     where pronamespace in ('cartodb'::regnamespace, 'cartage'::regnamespace)
       and prosrc ~* 'set_config|\mset\s+(local\s+|session\s+)?(role|session)\M' and proname <> 'cdb_checkquota'`,
    [],
    user.account.database,
  )
  assert.deepEqual(rows, [])
})

type Source = Readonly<{ path: string; text: string }>

async function sourceFiles(): Promise<readonly Source[]> {
  const found = (await readdir(root, { recursive: true })).filter(
    // The command line and HTTP show SQL in examples, `convert` reads that of GDAL; they run none.
    (path) =>
      path.endsWith('.ts') && !/^(http|cli|client|contract|convert|file-import|sql-text)\//.test(path),
  )
  return Promise.all(
    found.map(async (path) => ({ path, text: withoutComments(await readFile(join(root, path), 'utf8')) })),
  )
}

const withoutComments = (text: string) => text.replace(/^\s*(\/\*|\*|\/\/).*$/gm, '')

/** Whether its connections have the administrator's search_path, pg_catalog, or go to a database without tenants. */
function isAdministrators(text: string): boolean {
  const isTenants = /\b(masterTargetOf|sessionTargetOf)\b|\bdatabases\.(query|copy|job)\.(use|acquire)/
  const isOurs =
    /\badminTarget\b|\badministrator: Session\b|\bcontrol\b|\btx\b|\b(ClientBase|PoolClient|Queryable|GuardedHost|AskHost)\b/
  return isOurs.test(text) && !isTenants.test(text)
}

/**
 * The strings of a file that begin like SQL, with a parameter for each value. Tenants have no access to schema
 * `cartage`: what names it never runs in their sessions.
 */
function sqlTexts(text: string): readonly string[] {
  return [...text.matchAll(/`((?:[^`\\]|\\.)*)`|'((?:[^'\\\n]|\\.)*)'/g)]
    .map(([, template, string]) => (template ?? string ?? '').replace(/\$\{[^}]*\}/g, ' $1 '))
    .filter((value) => startsLikeSql.test(value) && !/\bcartage\.\w/.test(value))
}

const startsLikeSql = /^\s*(select|with|insert|update|delete|begin|grant|revoke|create|alter|drop|call|do)\s/i

/** Functions, operators and types in a text without their schema. */
function bareNames(sql: string): readonly string[] {
  const parts = [...lexemes(sql)].filter(({ kind }) => !/space|comment/.test(kind)).map(partOf)
  const found: string[] = []
  parts.forEach((part, place) => {
    const before = parts[place - 1] ?? ''
    const after = parts[place + 1] ?? ''
    const isName = /^[a-z_]\w*$/i.test(part)
    if (before === '.') return
    if (isName && after === '(' && !syntax.has(part.toLowerCase())) found.push(`${part}()`)
    if (isName && before === ':' && parts[place - 2] === ':' && after !== '.') found.push(`::${part}`)
    if (isOperator(part) && !isOperator(before) && !isStar(part, before, after)) {
      const rest = parts.slice(place).findIndex((each) => !isOperator(each))
      const operator = parts.slice(place, rest < 0 ? undefined : place + rest).join('')
      if (!(operator === '=' && before === ':')) found.push(operator)
    }
  })
  return found
}

const partOf = ({ kind, open, body, close }: Lexeme) =>
  kind === 'word' || kind === 'symbol' ? open + body + close : `'${kind}'`
const isOperator = (part: string) => /^[-+*/<>=~!@#%^&|`?]$/.test(part)
const isStar = (part: string, before: string, after: string) =>
  part === '*' && /^(|\(|,|\.|select)$/i.test(before) && /^(|\)|,|from)$/i.test(after)

/** Words before a parenthesis that are PostgreSQL's grammar, not a function. */
const syntax = new Set(
  'and any array as case check coalesce else exists filter from greatest group in into join lateral least loop materialized nullif on operator or over return select strict then using values when where while with execute if elsif'.split(
    ' ',
  ),
)
