package scenarios

import (
	"slices"
	"testing"
)

func TestCleanTakesEveryLivingReplicaOrTheOneThatIsNamed(t *testing.T) {
	for line, want := range map[string][]string{
		"clean t-0":      {"clean 2 t-0", "clean 1 t-0"},
		"clean t-0 on 2": {"clean 2 t-0"},
		"clean t-0 on=1": {"clean 1 t-0"},
		"retain t-0":     {"retain t-0"},
	} {
		w, e := newFake()
		if _, err := run(t, w, e, line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if !slices.Equal(w.cluster.did, want) {
			t.Errorf("%s did %v", line, w.cluster.did)
		}
	}
	if _, err := Parse("clean t-0 on"); err == nil {
		t.Error("a command that ends with on is understood")
	}
}
