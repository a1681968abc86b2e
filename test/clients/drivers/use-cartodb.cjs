// Uses SQL with the npm package cartodb: node use-cartodb.cjs PACKAGE BASE_URL TOKEN. It depends on `latest` of an
// unmaintained package, so it is no dependency here: ../recordings.test.ts replays what it sent.
const [packagePath, baseUrl, apiKey] = process.argv.slice(2)
const { SQL } = require(packagePath)
const sql = new SQL({ user: 'anyone', api_key: apiKey, sql_api_url: `${baseUrl}/api/v2/sql` })

const run = (text, ...rest) =>
  new Promise((resolve) => {
    const promise = sql.execute(text, ...rest)
    promise.on('done', resolve)
    promise.on('_error', resolve)
  })

async function main() {
  const seen = []
  seen.push(await run('CREATE TABLE places (name text, n int)'))
  seen.push(await run("INSERT INTO places VALUES ('{{name}}', {{n}})", { name: "it''s 100%", n: 1 }))
  seen.push(await run('SELECT * FROM places'))
  seen.push(await run('SELECT name FROM places', { format: 'csv' }))
  seen.push(await run('SELECT ST_MakePoint(1, 2) AS the_geom', { format: 'geojson' }))
  seen.push(await run(`SELECT length('${'x'.repeat(1100)}') AS n`))
  seen.push(await run('SELECT nothing'))
  process.stdout.write(`${JSON.stringify(seen)}\n`)
}

main()
