package controller

// answerError is a refusal: Kafka's code and what it says with it.
type answerError struct {
	code    int16
	message string
}

func refuse(code int16, message string) *answerError { return &answerError{code, message} }

// text returns the message as responses carry it, nil for an empty one.
func (e *answerError) text() *string {
	if e == nil || e.message == "" {
		return nil
	}
	return &e.message
}
