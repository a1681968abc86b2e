import { curlLine, quoteShell, tokenVariable } from '../api/curl.ts'
import { addressOf } from '../api/request.ts'

export type ReadyLine = Readonly<{ name: string; label: string; text: string }>

type Use = Readonly<{ username: string; statement: string; token: string | undefined }>

/** Examples that run a statement. They contain the token only if it is given. */
export function readyLines(use: Use): readonly ReadyLine[] {
  return [
    { name: 'curl', label: 'curl', text: curlQuery(use) },
    { name: 'python', label: 'carto-python', text: python(use) },
    { name: 'gdal', label: 'GDAL', text: gdal(use) },
    { name: 'javascript', label: 'JavaScript', text: javascript(use) },
  ]
}

export const curlQuery = ({ username, statement, token }: Use) =>
  curlLine('query', { username, token, form: { q: statement } })

const sqlAddress = (username: string) => addressOf('query', { parameters: { name: username } })

function python({ username, statement, token }: Use): string {
  const base = sqlAddress(username).replace(/api\/v2\/sql$/, '')
  const key = token === undefined ? `os.environ["${tokenVariable}"]` : JSON.stringify(token)
  return [
    ...(token === undefined ? ['import os'] : []),
    'from carto.auth import APIKeyAuthClient',
    'from carto.sql import SQLClient',
    '',
    `client = SQLClient(APIKeyAuthClient(${JSON.stringify(base)}, ${key}))`,
    `print(client.send(${JSON.stringify(statement)})["rows"])`,
  ].join('\n')
}

function gdal({ username, statement, token }: Use): string {
  const key = token === undefined ? `"$${tokenVariable}"` : quoteShell(token)
  return `CARTO_API_URL=${quoteShell(sqlAddress(username))} CARTO_API_KEY=${key} \\
  ogrinfo -ro ${quoteShell(`CARTO:${username}`)} -sql ${quoteShell(statement)}`
}

function javascript({ username, statement, token }: Use): string {
  const key = token === undefined ? `process.env.${tokenVariable}` : JSON.stringify(token)
  return `const answer = await fetch(${JSON.stringify(sqlAddress(username))}, {
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    authorization: \`Basic \${btoa(\`${username}:\${${key}}\`)}\`,
  },
  body: JSON.stringify({ q: ${JSON.stringify(statement)} }),
})
console.log((await answer.json()).rows)`
}
