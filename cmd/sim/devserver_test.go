package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The server says where it is, answers there, and ends with Ctrl-C, telling what
// it was asked.
func TestDevserver(t *testing.T) {
	t.Parallel()
	cmd, _ := process(t, "devserver", "--fault", "529@1", "--window", "1000")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	lines := bufio.NewScanner(io.TeeReader(out, &shown))
	var url string
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "export OPENAI") {
		if m := regexp.MustCompile(`^export ANTHROPIC_BASE_URL=(http://127\.0\.0\.1:\d+) ANTHROPIC_API_KEY=dev$`).FindStringSubmatch(lines.Text()); m != nil {
			url = m[1]
		}
	}
	if url == "" {
		cmd.Process.Kill()
		t.Fatalf("no address in %q, %q", shown.String(), errs.String())
	}
	for _, want := range []int{529, 200} {
		req, err := http.NewRequest(http.MethodPost, url+"/v1/messages", strings.NewReader(`{"model":"claude-opus-5","max_tokens":50,"messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Api-Key", "dev")
		req.Header.Set("Anthropic-Version", "2023-06-01")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("status %d, want %d", resp.StatusCode, want)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(cmd.Wait()); code != exitInterrupted || !strings.Contains(errs.String(), "sim: interrupted after 2 requests, 1 of them answered") {
		t.Errorf("exit %d: %s", code, errs.String())
	}
}
