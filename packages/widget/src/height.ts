/**
 * Tells how high a page's content is, now and whenever that changes. The content's own box is measured, never the page's: a page
 * is as high as its frame, and a frame that follows it would grow for ever.
 *
 * @param tell Gets whole pixels, each time another number than before.
 */
export function followHeight(content: Element, tell: (height: number) => void): void {
  let last = -1;
  new ResizeObserver(() => {
    const height = Math.ceil(content.getBoundingClientRect().height);
    if (height === last) return;
    last = height;
    tell(height);
  }).observe(content);
}
