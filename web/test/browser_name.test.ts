import assert from 'node:assert/strict';
import {test} from 'node:test';
import {browserName} from '../src/lib/browser_name';

test('browsers have names that people know', () => {
  assert.equal(browserName('Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'), 'Chrome on Linux');
  assert.equal(browserName('Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 Version/19.0 Mobile Safari/604.1'), 'Safari on iOS');
  assert.equal(browserName('Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0'), 'Edge on Windows');
  assert.equal(browserName('curl/8.1'), 'curl/8.1');
  assert.equal(browserName(''), 'unknown');
});
