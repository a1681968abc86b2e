/** Parameters of an address that name files. The process that parses the address reads them. */
const fileParameters = /[?&](?:sslrootcert|sslcert|sslkey)=/i

/** Whether parsing the address may read a file. The parser drops line breaks and tabs, and decodes names. */
export function namesFile(url: string): boolean {
  const decoded = url
    .replace(/[\t\n\r]/g, '')
    .replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
  return fileParameters.test(decoded)
}
