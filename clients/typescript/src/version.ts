/** That of the package and of the server; a test compares it with package.json. */
export const version = "0.1.0";
