package check

import (
	"encoding/xml"
	"fmt"
	"io"
)

// The JUnit form: one test for each result and each problem.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		File    string        `xml:"file,attr"`
		Line    int           `xml:"line,attr,omitempty"`
		Failure *junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the report as a JUnit test suite.
func (r *Report) JUnit(w io.Writer) error {
	r = r.harmless()
	suite := junitSuite{Name: "sim check " + r.File}
	for _, p := range r.Problems {
		suite.Cases = append(suite.Cases, junitCase{Class: r.File, Name: "check", File: r.File, Line: p.Line,
			Failure: &junitFailure{Message: p.Text, Type: "problem"}})
	}
	for i := range r.Results {
		s := &r.Results[i]
		c := junitCase{Class: r.File, Name: fmt.Sprintf("%s %s of %s%s", s.Metric, s.Rule, s.Cell, inGroup(s.Group)), File: r.File, Line: s.Line}
		if s.Status != OK {
			c.Failure = &junitFailure{Message: s.Message, Type: string(s.Status), Text: s.Look}
		}
		suite.Cases = append(suite.Cases, c)
	}
	suite.Tests = len(suite.Cases)
	for i := range suite.Cases {
		if suite.Cases[i].Failure != nil {
			suite.Failures++
		}
	}
	text, err := xml.MarshalIndent(struct {
		XMLName  xml.Name `xml:"testsuites"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Suite    junitSuite
	}{Tests: suite.Tests, Failures: suite.Failures, Suite: suite}, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding JUnit: %w", err)
	}
	if _, err := fmt.Fprintf(w, "%s%s\n", xml.Header, text); err != nil {
		return fmt.Errorf("writing JUnit: %w", err)
	}
	return nil
}
