/** After the compiler: puts the text of the renewal thread into dist as a literal. */

import { writeFileSync } from "node:fs";
import { renewalCode } from "../dist/renewal_code.js";

const text = `/** The text that the renewal thread is started from. */\nexport const renewalCode = ${JSON.stringify(renewalCode)};\n`;
writeFileSync(new URL("../dist/renewal_code.js", import.meta.url), text);
