package wire

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"highwater/cluster/broker"
	"highwater/cluster/commitlog"
	"highwater/cluster/disk"
	"highwater/cluster/record"
	"highwater/cluster/world"
)

// certificate is a self-signed one for 127.0.0.1.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true,
		NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestTLSCarriesTheSameBytesAndRefusesPlainClients(t *testing.T) {
	own, trusted := certificate(t)
	content := bytes.Repeat([]byte("segment"), 100_000)
	files := disk.NewMemory(disk.Options{})
	file, err := files.Create("segment")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt(content, 0); err != nil {
		t.Fatal(err)
	}
	s := start(t, func(call *world.Call, r *broker.Request) {
		if r.Key != 1 {
			call.Reply(plainAnswer(r))
			return
		}
		file.Retain()
		call.Reply(fetchAnswer(r.Version,
			commitlog.Slices{Ranges: []commitlog.FileRange{{File: file, Length: 600_000}},
				Bytes: 600_000},
			commitlog.Slices{Buffers: []record.Buffer{{Bytes: content}}, Bytes: len(content)}))
	}, func(c *Config) { c.TLS = &tls.Config{Certificates: []tls.Certificate{own}} })
	conn, err := tls.Dial("tcp", s.address, &tls.Config{RootCAs: trusted})
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, conn)
	for i := range int32(3) {
		c.expectService(i)
		request := kmsg.NewPtrFetchRequest()
		request.Version = 11
		c.send(i, request)
		_, body := c.receive()
		response := kmsg.NewPtrFetchResponse()
		response.Version = 11
		if err := response.ReadFrom(body); err != nil {
			t.Fatal(err)
		}
		rows := response.Topics[0].Partitions
		if !bytes.Equal(rows[0].RecordBatches, content[:600_000]) ||
			!bytes.Equal(rows[1].RecordBatches, content) {
			t.Fatal("the records are not those of the log")
		}
	}
	plain := s.connect()
	plain.send(1, metadataRequest(9))
	<-s.gone
	if !strings.Contains(s.log.String(), "TLS handshake") {
		t.Errorf("the log does not say why: %s", s.log.String())
	}
	c.expectService(9)
}
