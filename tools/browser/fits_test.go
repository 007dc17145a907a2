package browser

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// At the widths of a phone, a tablet and a desk nothing is wider than the window but what scrolls inside it, every chart that
// is shown fits, footnotes stand in the section that uses them, and texts have a contrast of 4.5 or more.
func TestReportFits(t *testing.T) {
	url := report(t)
	ctx, s := browse(t, "file://")
	for _, width := range []int64{360, 768, 1280} {
		must(ctx, t, chromedp.EmulateViewport(width, 800), chromedp.Navigate(url))
		fits(ctx, t, fmt.Sprint("report-", width), 3)
		if strays := value[int](ctx, t, `Array.from(document.querySelectorAll("sup a")).filter(a => !document.querySelector(a.getAttribute("href"))).length`); strays > 0 {
			t.Errorf("%d marks lead to no footnote", strays)
		}
		if told := value[[]string](ctx, t, terminal); len(told) > 0 {
			t.Errorf("the page speaks of what a terminal does: %q", told)
		}
		if foot := value[int](ctx, t, `document.querySelectorAll("main > .notes").length`); foot > 0 {
			t.Errorf("%d lists of footnotes stand at the foot of the page", foot)
		}
	}
	s.clean(t)
}

// fits checks what holds of a page at any width.
func fits(ctx context.Context, t *testing.T, name string, charts int) {
	t.Helper()
	shot(ctx, t, name)
	if over := value[int](ctx, t, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		t.Errorf("%s is %d pixels too wide", name, over)
	}
	if wide := value[[]string](ctx, t, `Array.from(document.querySelectorAll("body *")).filter(x => x.checkVisibility() && !x.closest(".wide, pre, code, nav, .uplot, .name") &&
		(x.getBoundingClientRect().right > innerWidth + 1 || x.scrollWidth > x.clientWidth + 1 && x.clientWidth > 0 && getComputedStyle(x).overflowX !== "visible")).map(x => x.outerHTML.slice(0, 90))`); len(wide) > 0 {
		t.Errorf("%s: wider than the window or cut: %q", name, wide)
	}
	if n := value[int](ctx, t, `Array.from(document.querySelectorAll("figure.picture")).filter(x => x.checkVisibility()).length`); n < charts {
		t.Errorf("%s shows %d charts", name, n)
	}
	if faint := value[[]string](ctx, t, contrast); len(faint) > 0 {
		t.Errorf("%s: a contrast below 4.5: %q", name, faint)
	}
}

// terminal lists paragraphs that name a flag or a command, or have backticks.
const terminal = `Array.from(document.querySelectorAll("p, li:not(:has(code)), td, th, h2, h3, caption")).map(x => x.textContent).filter(x => /\x60|(^|[\s(])--?[a-z][a-z-]*\b|\bsim [a-z]+ /.test(x))`

// contrast lists visible texts whose contrast to what is behind them is below 4.5 (WCAG 2.2, 1.4.3).
const contrast = `(() => {
	const rgb = c => (c.match(/[\d.]+/g) || []).map(Number), lum = c => { const [r, g, b] = c.map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b };
	const behind = x => { for (; x; x = x.parentElement) { const c = rgb(getComputedStyle(x).backgroundColor); if (c.length === 3 || c[3] > .5) return c.slice(0, 3) } return [255, 255, 255] };
	return Array.from(document.querySelectorAll("body *")).filter(x => x.checkVisibility() && !x.closest(".name, script") && Array.from(x.childNodes).some(n => n.nodeType === 3 && n.textContent.trim())).filter(x => {
		const a = lum(rgb(getComputedStyle(x).color).slice(0, 3)), b = lum(behind(x));
		return (Math.max(a, b) + .05) / (Math.min(a, b) + .05) < 4.5 }).map(x => x.outerHTML.slice(0, 80)) })()`

// The page of view fits the same widths; its sliders have names and say their values in words, and are turned by keys.
func TestViewFits(t *testing.T) {
	url := view(t)
	ctx, s := browse(t, url[:strings.Index(url, "/?")])
	for i, width := range []int64{360, 768, 1280} {
		must(ctx, t, chromedp.EmulateViewport(width, 800), chromedp.Navigate(url), chromedp.WaitVisible(chromedp.CSS("#dials")),
			chromedp.Poll[chromedp.Void](`document.querySelector("#advice li")`, chromedp.WithPollingTimeout(time.Minute)))
		fits(ctx, t, fmt.Sprint("view-", width), 1)
		if told := value[[]string](ctx, t, terminal); len(told) > 0 {
			t.Errorf("the page speaks of what a terminal does: %q", told)
		}
		if i > 0 {
			continue
		}
		accessible(ctx, t)
		must(ctx, t, script(`document.querySelector('.dial:not([hidden]) input[data-path="full-compact.trigger.fixed"]').focus()`),
			chromedp.KeyEvent(kb.ArrowRight), turned(1))
		if says := value[string](ctx, t, `document.activeElement.ariaValueText`); !strings.Contains(says, "000") {
			t.Errorf("turned by a key, the slider says %q", says)
		}
		if bare := value[[]string](ctx, t, `Array.from(document.querySelectorAll("table")).filter(x => x.checkVisibility() && !x.caption && !x.closest("[aria-label], details")).map(x => x.outerHTML.slice(0, 90))`); len(bare) > 0 {
			t.Errorf("tables without a name: %q", bare)
		}
	}
	s.clean(t)
}

// Printed on A4 the page has no chart that a page cuts: each is lower than a page, and its title and its last label are on one.
func TestReportPrints(t *testing.T) {
	url := report(t)
	ctx, s := browse(t, "file://")
	printed := func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
		return chromedp.Void{}, err
	}
	const width, height = 680, 1009 // A4 without margins of 15 mm, pixels
	must(ctx, t, chromedp.EmulateViewport(width, height), chromedp.Navigate(url), printed)
	type figure struct {
		Title  string
		Height float64
		Break  string
	}
	list := value[[]figure](ctx, t, `Array.from(document.querySelectorAll("figure.picture")).filter(x => x.checkVisibility()).map(x => ({
		Title: x.querySelector("img").alt, Height: x.getBoundingClientRect().height, Break: getComputedStyle(x).breakInside }))`)
	if len(list) < 3 {
		t.Errorf("%d charts are printed", len(list))
	}
	for _, f := range list {
		if f.Height > height || f.Break != "avoid" {
			t.Errorf("chart %q is %.0f pixels high, break-inside %s", f.Title, f.Height, f.Break)
		}
	}
	if wide := value[[]string](ctx, t, `Array.from(document.querySelectorAll("table, figure, img")).filter(x => x.checkVisibility() && x.getBoundingClientRect().right > innerWidth + 1).map(x => x.outerHTML.slice(0, 90))`); len(wide) > 0 {
		t.Errorf("wider than the sheet: %q", wide)
	}
	pdf, err := chromedp.Run(ctx, func(ctx context.Context, target *chromedp.Target) ([]byte, error) {
		out, err := cdp.Call(ctx, target, page.PrintToPDF, page.PrintToPDFParams{PreferCSSPageSize: new(true), PrintBackground: new(true)})
		return out.Data, err
	})
	if err != nil {
		t.Fatal(err)
	}
	whole(t, pdf, list[0].Title, "cost (USD)")
	s.clean(t)
}

// whole fails unless one page of a PDF has both texts, if pdftotext is there to read it.
func whole(t *testing.T, pdf []byte, first, last string) {
	t.Helper()
	if dir := os.Getenv("SHOTS"); dir != "" {
		_ = os.WriteFile(filepath.Join(dir, "report.pdf"), pdf, 0o644)
	}
	read, err := exec.LookPath("pdftotext")
	if err != nil {
		t.Log("not read: no pdftotext on this machine")
		return
	}
	cmd := exec.CommandContext(t.Context(), read, "-", "-")
	cmd.Stdin = bytes.NewReader(pdf)
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	pages := strings.Split(string(text), "\f")
	for _, p := range pages {
		if strings.Contains(p, first) && strings.Contains(p, last) {
			return
		}
	}
	t.Errorf("none of %d pages has %q and %q: the chart is cut", len(pages), first, last)
}
