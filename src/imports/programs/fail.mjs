/** What the client can mend: a code of imports and a sentence. */
export class FileError extends Error {
  constructor(code, text) {
    super(text)
    this.code = code
  }
}

/** A geometry that is not one of the six plain kinds in two dimensions: PostGIS has to make it one. */
export class NotFlat extends Error {}
