package devserver

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
)

// apiError is an error that a server answers with.
type apiError struct {
	status  int
	kind    string
	message string
	after   time.Duration // Retry-After, 0 for none
	date    bool          // Retry-After as a date
}

// invalid returns the error of a request that breaks a rule.
func invalid(format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, kind: "invalid_request_error", message: fmt.Sprintf(format, args...)}
}

// tooLong returns the error of a prompt beyond the window.
func tooLong(tokens, window int64, hide bool) *apiError {
	if hide {
		return invalid("Input is too long for requested model.")
	}
	return invalid("prompt is too long: %d tokens > %d maximum", tokens, window)
}

// head writes status and headers.
func (e *apiError) head(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	switch {
	case e.after <= 0:
	case e.date:
		h.Set("Retry-After", time.Now().Add(e.after).UTC().Format(http.TimeFormat))
	default:
		h.Set("Retry-After", strconv.FormatInt(int64((e.after+time.Second-1)/time.Second), 10))
	}
	w.WriteHeader(e.status)
}

// errorBody is an error in the form of the Messages API, also inside a stream.
type errorBody struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	RequestID string `json:"request_id,omitzero"`
}

func (e *apiError) body(id string) errorBody {
	b := errorBody{Type: "error", RequestID: id}
	b.Error.Type, b.Error.Message = e.kind, e.message
	return b
}

// failMessages answers with an error in the form of the Messages API.
func failMessages(c *call, e *apiError) {
	e.head(c.w)
	_ = json.MarshalWrite(c.w, e.body("req_"+c.digest)) // the client has gone
}

// failChat answers with an error in the form of chat completions.
func failChat(c *call, e *apiError) {
	var b struct {
		Error struct {
			Message string  `json:"message"`
			Type    string  `json:"type"`
			Code    *string `json:"code"`
		} `json:"error"`
	}
	b.Error.Message, b.Error.Type = e.message, e.kind
	e.head(c.w)
	_ = json.MarshalWrite(c.w, b) // the client has gone
}
