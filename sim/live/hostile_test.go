package live

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const fair = `{"input_tokens":70,"output_tokens":5}`

// A server may say what it likes: no answer is taken that is not whole and of a sane size, the key
// goes nowhere else, and no part of the key comes back, in whatever form and place.
func TestHostileServer(t *testing.T) {
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	said := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, body)
		}
	}
	text := func(text string) http.HandlerFunc { return said(messageOf(text, fair)) }
	moved := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusTemporaryRedirect) }
	}
	counted := func(usage string) http.HandlerFunc { return said(messageOf("a", usage)) }
	b64 := base64.StdEncoding.EncodeToString
	for _, tc := range []struct {
		name    string
		answer  http.HandlerFunc
		refused bool
	}{
		{"redirect to another host", moved(other.URL), true},
		{"redirect to another scheme", moved("file:///etc/passwd"), true},
		{"redirect with the key", moved("http://127.0.0.1:1/?" + canary), true},
		{"negative usage", counted(`{"input_tokens":-5,"output_tokens":5}`), true},
		{"absurd usage", counted(`{"input_tokens":9000000000000000000,"output_tokens":5}`), true},
		{"usage that is not finite", counted(`{"input_tokens":1e999,"output_tokens":5}`), true},
		{"usage that is no number", counted(`{"input_tokens":NaN,"output_tokens":5}`), true},
		{"usage with a fraction", counted(`{"input_tokens":1.5,"output_tokens":5}`), true},
		{"another content type", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; key="+canary)
			io.WriteString(w, messageOf("a", fair))
		}, true},
		{"the key as content type", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", canary)
			io.WriteString(w, messageOf("a", fair))
		}, true},
		{"endless", func(w http.ResponseWriter, r *http.Request) {
			said(`{"content":"`)(w, r)
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
					return
				}
			}
		}, true},
		{"silent", func(w http.ResponseWriter, r *http.Request) {
			said("{")(w, r)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, true},
		{"empty", said(""), true},
		{"truncated", said(messageOf("half", fair)[:60]), true},
		{"no JSON", said("{"), true},
		{"no object", said(`"a"`), true},
		{"doubled members", said(strings.Replace(messageOf("a", fair), "{", `{"id":"n",`, 1)), false},
		{"the key in text", text("it is " + canary), false},
		{"the middle of the key", text("it has " + canary[5:16] + " in it"), false},
		{"the key in blocks", said(`{"content":[{"type":"text","text":"it is ` + canary[:9] + `"},{"type":"text","text":"` + canary[9:] + `"}]}`), false},
		{"base64", text(b64([]byte(canary))), false},
		{"base64 of a header", text(b64([]byte("x-api-key: " + canary + "\r\n"))), false},
		{"base64 of a part", text(b64([]byte(canary[4:18]))), false},
		{"the key as model and id", said(strings.ReplaceAll(messageOf("a", fair), `"m"`, `"`+canary+`m"`)), false},
		{"the key as stop reason", said(strings.ReplaceAll(messageOf("a", fair), "end_turn", canary)), false},
		{"the key in an error of an answer", said(`{"type":"error","error":{"type":"api_error","message":"` + b64([]byte(canary)) + `"}}`), true},
		{"the key in an error", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, "no: "+canary[3:14]+" and "+b64([]byte("Bearer "+canary)))
		}, true},
	} {
		h := httptest.NewServer(tc.answer)
		client := anthropicAt(t, h.URL, time.Second)
		reply, err := client.Do(t.Context(), short(100))
		h.CloseClientConnections()
		h.Close()
		if (err != nil) != tc.refused {
			t.Errorf("%s: %+v, %v", tc.name, reply, err)
		}
		stored, _ := json.Marshal(reply)
		shown := string(stored) + fmt.Sprintf("%v %+v", err, err)
		for i := 0; i+8 <= len(canary); i++ {
			if strings.Contains(shown, canary[i:i+8]) {
				t.Errorf("%s: shows %q of the key: %s", tc.name, canary[i:i+8], shown)
				break
			}
		}
		for at := range 3 {
			if text := b64([]byte("xx"[:at] + canary[3:12])); strings.Contains(shown, text[4:11]) {
				t.Errorf("%s: shows base64 of the key: %s", tc.name, shown)
			}
		}
	}
	if elsewhere > 0 {
		t.Errorf("another server was asked %d times", elsewhere)
	}
}

// A certificate that nobody vouches for ends the call before the key is sent.
func TestForeignCertificate(t *testing.T) {
	asked := false
	h := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer h.Close()
	h.Config.ErrorLog = nil
	reply, err := anthropicAt(t, h.URL, 0).Do(t.Context(), short(100))
	if f := failure(t)(reply, err); asked || !strings.Contains(f.Message, "certificate") {
		t.Errorf("asked: %t, %v", asked, err)
	}
}

// Without encryption nothing goes to another machine unless somebody says so.
func TestInsecure(t *testing.T) {
	for base, want := range map[string]bool{
		"http://example.org/v1": true, "https://example.org": false, "http://127.0.0.1:8000/v1": false, "http://[::1]:1": false,
		"http://localhost:8000": false, "http://localhost.example.org": true, "http://10.0.0.2": true, "http://127.0.0.1.example.org": true,
	} {
		if got := Insecure(base); got != want {
			t.Errorf("%s: %t, want %t", base, got, want)
		}
	}
}

// What a server sends in place of HTTP that ends is refused in the time that one request has, three seconds here, and in little memory.
func TestServersThatDoNotEnd(t *testing.T) {
	raw := func(write func(c net.Conn)) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			defer c.Close()
			write(c)
		}
	}
	repeat := func(c net.Conn, text string, times int, pause time.Duration) {
		for range times {
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
			time.Sleep(pause)
		}
	}
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	whole := messageOf("a", fair)
	zeros := func() string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		for range 300 {
			z.Write(make([]byte, 1<<20))
		}
		z.Close()
		return b.String()
	}()
	for name, answer := range map[string]http.HandlerFunc{
		"one header without end": raw(func(c net.Conn) {
			repeat(c, head+"X: ", 1, 0)
			repeat(c, strings.Repeat("x", 1<<16), 1<<10, 0)
		}),
		"headers without end": raw(func(c net.Conn) { repeat(c, head, 1, 0); repeat(c, "X: y\r\n", 1<<22, 0) }),
		"notices without end": raw(func(c net.Conn) { repeat(c, "HTTP/1.1 103 Early Hints\r\n\r\n", 1<<20, 0) }),
		"a byte now and then": raw(func(c net.Conn) { repeat(c, head+"\r\n{", 1, 0); repeat(c, " ", 1000, 50*time.Millisecond) }),
		"nothing at all":      raw(func(c net.Conn) { time.Sleep(10 * time.Second) }),
		"a body that is less": raw(func(c net.Conn) { repeat(c, head+"Content-Length: 9999\r\n\r\n"+whole[:50], 1, 0) }),
		"a broken chunk":      raw(func(c net.Conn) { repeat(c, head+"Transfer-Encoding: chunked\r\n\r\nzz\r\n"+whole, 1, 0) }),
		"no HTTP":             raw(func(c net.Conn) { repeat(c, "SSH-2.0-x\r\n", 1, 0) }),
		"zeros, compressed": raw(func(c net.Conn) {
			repeat(c, head+fmt.Sprintf("Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n", len(zeros))+zeros, 1, 0)
		}),
		"no content": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"a redirect to itself": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusPermanentRedirect)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := httptest.NewUnstartedServer(answer)
			h.Config.ErrorLog = log.New(io.Discard, "", 0)
			h.Start()
			begun := time.Now()
			reply, err := anthropicAt(t, h.URL, 3*time.Second).Do(t.Context(), short(100))
			if took := time.Since(begun); err == nil || took > 20*time.Second {
				t.Errorf("%+v, %v after %v", reply, err, took)
			}
			h.CloseClientConnections()
		})
	}
}
