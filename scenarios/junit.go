package scenarios

import (
	"encoding/xml"
	"fmt"
	"io"
	"time"
)

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
}

// WriteJUnit writes reports as JUnit's XML, a suite a scenario and a case a step. Times are
// virtual, so that the file is the same every time.
func WriteJUnit(w io.Writer, reports []Report) error {
	var all junitSuites
	for _, r := range reports {
		suite := junitSuite{Name: r.Name, Time: seconds(r.Virtual)}
		var before time.Duration
		for _, step := range r.Steps {
			one := junitCase{Class: r.Name, Name: fmt.Sprintf("line %d: %s", step.Line, step.Command),
				Time: seconds(step.At - before)}
			before = step.At
			if !step.OK {
				one.Failure = &junitFailure{step.Text}
				suite.Failures++
			}
			suite.Cases = append(suite.Cases, one)
		}
		if r.Failure != "" {
			suite.Failures++
			suite.Cases = append(suite.Cases, junitCase{Class: r.Name, Name: "run", Time: "0.000",
				Failure: &junitFailure{r.Failure}})
		}
		suite.Tests = len(suite.Cases)
		all.Suites = append(all.Suites, suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
