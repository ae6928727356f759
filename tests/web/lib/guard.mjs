// What text of others must never become: an element that loads or runs something, an attribute that runs, a link to elsewhere.

/** One line for each; empty when all is well. */
export function foreignElements(page) {
  return page.evaluate(() => {
    const found = [];
    const say = element => found.push(element.outerHTML.slice(0, 120));
    document.querySelectorAll('script:not([src]), iframe, frame, object, embed, base, img, video, audio, source, form[action], style, template, math, marquee, svg script, meta[http-equiv]').forEach(say);
    for (const element of document.querySelectorAll('*')) {
      if (element.getAttributeNames().some(name => name.startsWith('on'))) say(element);
      for (const name of ['href', 'src', 'action', 'formaction', 'xlink:href']) {
        const value = element.getAttribute(name);
        if (value === null) continue;
        const address = new URL(value, location.href);
        const isOurs = address.origin === location.origin || (address.protocol === 'blob:' && element.hasAttribute('download'));
        if (!isOurs) say(element);
      }
    }
    return found;
  });
}
