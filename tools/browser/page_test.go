// Package browser looks at the pages of sim in a real browser. It is a module of its own: the program needs none of
// what it needs. SIM names the program; without a Chromium on the machine its tests are skipped.
package browser

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// program returns the program under test.
func program(t *testing.T) string {
	t.Helper()
	sim := os.Getenv("SIM")
	if sim == "" {
		t.Skip("SIM names no program")
	}
	return sim
}

// seen is what a page did that it must not do.
type seen struct {
	mu       sync.Mutex
	problems []string
	own      string // addresses that begin so are its own
}

func (s *seen) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// browse returns a browser that notes messages on the console and requests to any other place than own.
func browse(t *testing.T, own string) (context.Context, *seen) {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium on this machine")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(time.Minute))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	s := &seen{own: own}
	err := chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			s.note("exception: %v", e.ExceptionDetails)
		case *runtime.EventConsoleAPICalled:
			s.note("console: %v", e.Type)
		case *log.EventEntryAdded:
			s.note("log: %s %s", e.Entry.Text, e.Entry.URL)
		case *network.EventRequestWillBeSent:
			if u := e.Request.URL; !strings.HasPrefix(u, s.own) && !strings.HasPrefix(u, "data:") {
				s.note("request to %s", u)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	for _, enable := range []cdp.Command[cdp.Empty, cdp.Empty]{log.Enable, runtime.Enable} {
		if _, err := chromedp.Call(ctx, enable, cdp.Empty{}); err != nil {
			t.Fatal(err)
		}
	}
	return ctx, s
}

// clean fails the test for what the page did.
func (s *seen) clean(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.problems {
		t.Error(p)
	}
}

// must runs actions.
func must(ctx context.Context, t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// shot keeps a picture of the page in the folder that SHOTS names, if it does.
func shot(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	if len(png) < 10_000 {
		t.Errorf("%s: a picture of %d bytes shows nothing", name, len(png))
	}
	if dir := os.Getenv("SHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// value evaluates an expression on the page.
func value[T any](ctx context.Context, t *testing.T, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// script is a step that carries out a statement.
func script(text string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void](text)
}

// report writes the page of the samples, one of whose files has a session with a hostile project.
func report(t *testing.T) string {
	t.Helper()
	sim, dir := program(t), t.TempDir()
	page := filepath.Join(dir, "report.html")
	if out, err := exec.CommandContext(t.Context(), sim, "report", "-q", "-o", page).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return "file://" + page
}

// night asks pages for their dark colours.
func night(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
	_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
	return chromedp.Void{}, err
}

// The page of a report asks nobody for anything, sorts, shows values under the pointer, and follows calls one by one, at
// the width of a desk and of a phone, by day and by night.
func TestReport(t *testing.T) {
	url := report(t)
	ctx, s := browse(t, "file://")
	must(ctx, t, chromedp.EmulateViewport(1200, 900), chromedp.Navigate(url))
	if n := value[int](ctx, t, `document.querySelectorAll("h2").length`); n < 4 {
		t.Errorf("%d headings", n)
	}
	column := `Array.from(document.querySelectorAll("section")).find(x => x.querySelector("h2")?.textContent === "Strategies").querySelector("table")`
	first := column + `.tBodies[0].rows[0].cells[0].textContent`
	before := value[string](ctx, t, first)
	must(ctx, t, script(column+`.tHead.rows[0].cells[1].querySelector("button").click()`),
		script(column+`.tHead.rows[0].cells[1].querySelector("button").click()`))
	costs := value[[]string](ctx, t, `Array.from(`+column+`.tBodies[0].rows).map(r => r.cells[1].firstChild.textContent)`)
	if dear := value[string](ctx, t, first); !strings.HasPrefix(dear, "none") || dear == before {
		t.Errorf("by falling cost the first strategy is %q (costs %v), want none", dear, costs)
	}
	row := value[string](ctx, t, `document.querySelector("figure.picture ~ details tbody tr").textContent`)
	if !strings.Contains(row, "billed") {
		t.Errorf("the figures of the cost chart begin with %q, want those of billed", row)
	}
	step := `document.querySelector(".tracks .step").textContent`
	if text := value[string](ctx, t, step); !strings.HasPrefix(text, "call 1 of ") {
		t.Errorf("the step says %q", text)
	}
	must(ctx, t, script(`document.querySelector(".tracks .plot").dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}))`))
	if text := value[string](ctx, t, step); !strings.HasPrefix(text, "call 2 of ") {
		t.Errorf("behind the arrow key the step says %q", text)
	}
	accessible(ctx, t)
	shot(ctx, t, "report-wide")
	must(ctx, t, chromedp.EmulateViewport(390, 844), night, chromedp.Navigate(url))
	if over := value[int](ctx, t, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		t.Errorf("at the width of a phone the page is %d pixels too wide", over)
	}
	shot(ctx, t, "report-phone-dark")
	s.clean(t)
}

// view serves the samples and returns the address of the page.
func view(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t), append([]string{"view", "-q", "--no-open"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(line)[0]
}

// A slider changes the figures to the figures of sim run with that setting.
func TestView(t *testing.T) {
	url := view(t)
	ctx, s := browse(t, url[:strings.Index(url, "/?")])
	must(ctx, t, chromedp.EmulateViewport(1200, 900), chromedp.Navigate(url), chromedp.WaitVisible(chromedp.CSS("#dials")))
	done := func(n int) chromedp.Action[chromedp.Void] {
		return chromedp.Poll[chromedp.Void](fmt.Sprintf(`+(document.body.dataset.done || 0) >= %d`, n), chromedp.WithPollingTimeout(time.Minute))
	}
	slide := func(to int) chromedp.Action[chromedp.Void] {
		return script(fmt.Sprintf(`(() => { const d = document.querySelector('input[data-path="full-compact.trigger.fixed"]');
			d.value = %d; d.dispatchEvent(new Event("input", {bubbles: true})) })()`, to))
	}
	accessible(ctx, t)
	must(ctx, t, slide(4), done(1)) // the fourth value: 50,000 tokens
	cost := value[string](ctx, t, `Array.from(document.querySelectorAll("main td")).find(x => x.firstChild?.textContent === "own, changed").nextElementSibling.firstChild.textContent`)
	line := value[string](ctx, t, `document.querySelector("main pre").textContent`)
	if want := "sim run --strategy recorded,own --set full-compact.trigger.fixed=50000"; line != want {
		t.Errorf("the command to copy is %q, want %q", line, want)
	}
	run := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), program(t), append([]string{"run", "-q", "--strategy", "own"}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if out := run("--set", "full-compact.trigger.fixed=50000"); !strings.Contains(out, cost) {
		t.Errorf("the page says %s, sim run\n%s", cost, out)
	}
	// A miss is told whole: what was expected, and why it missed.
	must(ctx, t, script(`document.querySelector(".tracks .next").click()`),
		chromedp.Poll[chromedp.Void](`document.querySelector(".why h3")`, chromedp.WithPollingTimeout(time.Minute)))
	for range 20 {
		if strings.Contains(value[string](ctx, t, `document.querySelector(".step").textContent`), "miss (") {
			break
		}
		must(ctx, t, script(`document.querySelector(".tracks .next").click()`))
	}
	at := value[string](ctx, t, `document.querySelector(".step").textContent.split(" ")[1]`)
	must(ctx, t, chromedp.Poll[chromedp.Void](`document.querySelector(".why h3")?.textContent.startsWith("call `+at+` ")`, chromedp.WithPollingTimeout(time.Minute)))
	if why := value[string](ctx, t, `document.querySelector(".why").textContent`); !strings.Contains(why, " left in the cache: missed ") {
		t.Errorf("of a miss the page says %q", why)
	}
	shot(ctx, t, "view")
	// Another strategy has other dials; a session is chosen by its id.
	must(ctx, t, script(`(() => { const f = document.getElementById("dials").elements; f.strategy.value = "none"; f.session.options[0].selected = true;
		f.strategy.dispatchEvent(new Event("input", {bubbles: true})) })()`), done(2))
	if hidden := value[bool](ctx, t, `document.querySelector('input[data-path="full-compact.trigger.fixed"]').closest(".dial").hidden`); !hidden {
		t.Error("strategy none has a slider for its threshold")
	}
	if title := value[string](ctx, t, `document.querySelector(".head").textContent`); !strings.HasPrefix(title, "1 session ") {
		t.Errorf("with one session chosen the page says %q", title)
	}
	if title := value[string](ctx, t, `document.querySelector("h1").textContent`); !strings.HasPrefix(title, "What 1 session of Claude Code cost") {
		t.Errorf("with one session chosen the heading is %q", title)
	}
	s.clean(t)
}

// turned waits until the page has shown so many answers.
func turned(n int) chromedp.Action[chromedp.Void] {
	return chromedp.Poll[chromedp.Void](fmt.Sprintf(`+(document.body.dataset.done || 0) >= %d`, n), chromedp.WithPollingTimeout(time.Minute))
}

// twoAgents writes a session of Codex and one of Claude Code into a folder.
func twoAgents(t *testing.T) string {
	t.Helper()
	const codex = `{"timestamp":"2026-06-01T10:00:00.000Z","type":"session_meta","payload":{"id":"00000001-0000-4000-8000-000000000001","timestamp":"2026-06-01T10:00:00.000Z","cwd":"/p","originator":"codex_cli_rs","cli_version":"0.90.0"}}
{"timestamp":"2026-06-01T10:00:01.000Z","type":"turn_context","payload":{"cwd":"/p","model":"gpt-5.5"}}
{"timestamp":"2026-06-01T10:00:02.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}}
{"timestamp":"2026-06-01T10:00:05.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}}
{"timestamp":"2026-06-01T10:00:06.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":9000,"cached_input_tokens":0,"output_tokens":90,"reasoning_output_tokens":0,"total_tokens":9090},"last_token_usage":{"input_tokens":9000,"cached_input_tokens":0,"output_tokens":90,"reasoning_output_tokens":0,"total_tokens":9090},"model_context_window":258400}}}
`
	const claude = `{"type":"assistant","sessionId":"s","cwd":"/p","version":"2.1.0","uuid":"a","timestamp":"2026-03-01T10:00:00.000Z","message":{"id":"m1","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"done"}],"usage":{"input_tokens":9,"cache_creation_input_tokens":9000,"cache_read_input_tokens":0,"output_tokens":90}}}
`
	dir := t.TempDir()
	for name, text := range map[string]string{"rollout-2026-06-01T10-00-00-00000001-0000-4000-8000-000000000001.jsonl": codex, "s.jsonl": claude} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The page has the settings of the agent whose sessions are shown, and of no other: none while several are. The card of
// the advice comes first and follows the filter, and so does the heading. A client's own setting takes the place
// of the slider for the same, and is as it is again with another agent.
func TestViewOfSeveralAgents(t *testing.T) {
	url := view(t, twoAgents(t))
	ctx, s := browse(t, url[:strings.Index(url, "/?")])
	advised := chromedp.Poll[chromedp.Void](`(c => !c.ariaBusy && c.querySelector("li"))(document.getElementById("advice"))`, chromedp.WithPollingTimeout(time.Minute))
	must(ctx, t, chromedp.EmulateViewport(1200, 900), chromedp.Navigate(url), chromedp.WaitVisible(chromedp.CSS("#dials")), advised)
	only := func(want string) {
		t.Helper()
		if list := value[string](ctx, t, `Array.from(document.querySelectorAll(".client")).filter(x => !x.hidden).map(x => x.dataset.agent).join(" ")`); list != want {
			t.Errorf("the page has the settings of %q, want %q", list, want)
		}
	}
	only("")
	if first := value[string](ctx, t, `document.querySelector("header h1").nextElementSibling.id`); first != "advice" {
		t.Errorf("behind the heading comes %q, want the advice", first)
	}
	accessible(ctx, t)
	choose := func(agent string) chromedp.Action[chromedp.Void] {
		return script(fmt.Sprintf(`(() => { const f = document.getElementById("dials").elements; f.agent.value = %q; f.agent.dispatchEvent(new Event("input", {bubbles: true})) })()`, agent))
	}
	must(ctx, t, choose("codex"), turned(1), advised)
	only("codex")
	for _, heading := range []string{`document.title`, `document.querySelector("h1").textContent`} {
		if title := value[string](ctx, t, heading); !strings.HasPrefix(title, "What 1 session of Codex cost") {
			t.Errorf("with sessions of Codex %s is %q", heading, title)
		}
	}
	if text := value[string](ctx, t, `document.getElementById("advice").textContent`); strings.Contains(text, "Claude Code") || !strings.Contains(text, "Codex") {
		t.Errorf("with sessions of Codex the advice is %q", text)
	}
	dials := `Array.from(document.querySelectorAll('input[data-path="full-compact.trigger.fixed"]')).filter(x => x.checkVisibility())`
	if n := value[int](ctx, t, dials+`.length`); n != 1 {
		t.Fatalf("%d sliders for the threshold, want that of the client", n)
	}
	if says := value[string](ctx, t, dials+`[0].closest(".dial").querySelector("small").textContent`); !strings.Contains(says, "~/.codex/config.toml") {
		t.Errorf("at the slider of the threshold stands %q", says)
	}
	must(ctx, t, script(dials+`.forEach(d => { d.value = 3; d.dispatchEvent(new Event("input", {bubbles: true})) })`), turned(2))
	if line := value[string](ctx, t, `document.querySelector("main pre").textContent`); !strings.Contains(line, "--set full-compact.trigger.fixed=60000 --agent codex") {
		t.Errorf("the command to copy is %q", line)
	}
	shot(ctx, t, "view-codex")
	must(ctx, t, choose("claude-code"), turned(3),
		chromedp.Poll[chromedp.Void](`!document.querySelector("main pre").textContent.includes("--set")`, chromedp.WithPollingTimeout(time.Minute)))
	only("claude-code")
	s.clean(t)
}

// The advice on a page is told in dollars or in tokens, one at a time.
func TestReportInTokens(t *testing.T) {
	url := report(t)
	ctx, s := browse(t, "file://")
	must(ctx, t, chromedp.EmulateViewport(1200, 900), chromedp.Navigate(url))
	shown := `Array.from(document.querySelectorAll("[data-way]")).filter(x => x.checkVisibility()).map(x => x.dataset.way).join(" ")`
	if ways := value[string](ctx, t, shown); ways != "dollars" {
		t.Errorf("at first the advice is told in %q", ways)
	}
	must(ctx, t, script(`(c => { c.value = "tokens"; c.dispatchEvent(new Event("change")) })(document.querySelector(".ways select"))`))
	if ways := value[string](ctx, t, shown); ways != "tokens" {
		t.Errorf("switched to tokens the advice is told in %q", ways)
	}
	if text := value[string](ctx, t, `document.querySelector("[data-way=tokens]").textContent`); !strings.Contains(text, "PEAK 5 H") || strings.Contains(text, "$") {
		t.Errorf("in tokens the advice is %q", text)
	}
	shot(ctx, t, "report-tokens")
	s.clean(t)
}

// Every control has a label, and headings do not skip a level.
func accessible(ctx context.Context, t *testing.T) {
	t.Helper()
	if bare := value[[]string](ctx, t, `Array.from(document.querySelectorAll("select, input")).filter(x => !x.labels.length && !x.ariaLabel).map(x => x.outerHTML)`); len(bare) > 0 {
		t.Errorf("controls without a label: %v", bare)
	}
	if bare := value[int](ctx, t, `Array.from(document.querySelectorAll("button")).filter(x => !x.textContent.trim()).length + document.querySelectorAll("img:not([alt])").length`); bare > 0 {
		t.Errorf("%d buttons or pictures without a text", bare)
	}
	levels := value[[]int](ctx, t, `Array.from(document.querySelectorAll("h1, h2, h3, h4")).map(x => +x.tagName[1])`)
	for i := 1; i < len(levels); i++ {
		if levels[i] > levels[i-1]+1 {
			t.Errorf("a heading of level %d stands behind one of level %d: %v", levels[i], levels[i-1], levels)
		}
	}
}

// Without scripts tables and pictures remain; printed, the page is on A4.
func TestReportWithoutScripts(t *testing.T) {
	url := report(t)
	ctx, s := browse(t, "file://")
	off := func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return chromedp.Void{}, err
	}
	must(ctx, t, chromedp.EmulateViewport(1200, 900), off, chromedp.Navigate(url))
	shown := func(what string) int {
		return value[int](ctx, t, `Array.from(document.querySelectorAll("`+what+`")).filter(x => x.getBoundingClientRect().height > 10).length`)
	}
	if tables, pictures, tracks := shown("table"), shown("img"), shown(".tracks"); tables < 2 || pictures < 3 || tracks > 0 {
		t.Errorf("without scripts %d tables, %d pictures and %d tracks are shown", tables, pictures, tracks)
	}
	shot(ctx, t, "report-no-scripts")
	s.clean(t)
}

// A session whose id and folder are markup does nothing but stand there.
func TestHostileNames(t *testing.T) {
	dir := t.TempDir()
	const evil = `<script>document.title="caught"</script><img src=x onerror=document.title="caught">`
	line := `{"type":"assistant","sessionId":%[1]q,"cwd":%[1]q,"version":"2.1.0","uuid":"a","timestamp":"2026-03-01T10:00:00.000Z","message":{"id":"m1","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"done"}],"usage":{"input_tokens":9,"cache_creation_input_tokens":9000,"cache_read_input_tokens":0,"output_tokens":90}}}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "s.jsonl"), []byte(fmt.Sprintf(line, evil)), 0o600); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "report.html")
	if out, err := exec.CommandContext(t.Context(), program(t), "report", "-q", dir, "-o", page).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ctx, s := browse(t, "file://")
	must(ctx, t, chromedp.EmulateViewport(1200, 900), chromedp.Navigate("file://"+page))
	if option := value[string](ctx, t, `document.querySelector(".group").selectedOptions[0].value`); option != evil {
		t.Errorf("the session is called %q, want its id as text", option)
	}
	if title := value[string](ctx, t, `document.title`); title == "caught" {
		t.Error("a session's name was carried out")
	}
	s.clean(t)
}
